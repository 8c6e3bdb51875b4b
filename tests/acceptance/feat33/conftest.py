"""One stage for each engine, shared by all tests of the package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acceptance.feat33.mail import Mailroom
from acceptance.feat33.stage import CANARY, Stage, with_password
from acceptance.fleet import Site, new_database
from servers import PostgresServer, RedisServer


@pytest.fixture(scope="package")
def databases() -> Iterator[PostgresServer]:
    """A server that may be stopped: nobody else's."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="package", params=["postgres", "redis with a ledger"])
def stage(
    request: pytest.FixtureRequest, databases: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    database = with_password(new_database(databases.url()), "postgres")
    folder = tmp_path_factory.mktemp("feat33")
    if request.param == "postgres":
        yield from _open(Stage(databases, database, database, Site(folder, database), Mailroom()))
    else:
        with RedisServer(appendonly="yes", requirepass=CANARY) as redis:
            url = with_password(redis.url(), "")
            yield from _open(Stage(redis, url, database, Site(folder, url), Mailroom()))


def _open(made: Stage) -> Iterator[Stage]:
    try:
        made.open()
        yield made
    finally:
        made.close()
