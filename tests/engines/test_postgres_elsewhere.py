"""A lent connection must lead to the jobs: what is put in elsewhere would be acknowledged and never run."""

from __future__ import annotations

from typing import Any, NamedTuple

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa

from acceptance.fleet import new_database
from penstock import InvalidOption, Penstock, SyncContext
from penstock.engines.postgres import homes
from servers import postgres_server


class Two(NamedTuple):
    app: Penstock
    other: str  # another database, migrated as well

    def jobs_in(self, url: str) -> int:
        with psycopg.connect(url) as connection:
            (count,) = connection.execute(b"select count(*) from penstock.jobs").fetchone() or (0,)
            return int(count)


def make(url: str) -> Penstock:
    app = Penstock(url)

    @app.task
    def hello(n: int = 0) -> int:
        return n

    return app


@pytest.fixture
async def two() -> Two:
    server = postgres_server().url()
    here, other = new_database(server), new_database(server)
    for url in (here, other):
        await make(url).migrate()
    return Two(make(here), other)


async def test_a_connection_to_another_database_is_refused_and_nothing_is_put_in(two: Two) -> None:
    hello = two.app.tasks["hello"]
    with psycopg.connect(two.other) as connection:
        with pytest.raises(InvalidOption, match="another database than that of the jobs"):
            hello.using(connection=connection).enqueue()
        connection.rollback()
    async with await psycopg.AsyncConnection.connect(two.other) as aconnection:
        with pytest.raises(InvalidOption, match="outbox="):
            await hello.using(connection=aconnection).aenqueue()
        await aconnection.rollback()
    plain = await asyncpg.connect(two.other)
    with pytest.raises(InvalidOption, match="another database"):
        await hello.using(connection=plain).aenqueue()
    await plain.close()
    engine = sa.create_engine(two.other.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as lent, pytest.raises(InvalidOption, match="another database"):
        hello.using(connection=lent).enqueue()
    engine.dispose()
    assert two.jobs_in(two.other) == two.jobs_in(two.app.url) == 0


async def test_a_connection_to_the_jobs_is_taken_by_whatever_address_it_came(two: Two) -> None:
    address = two.app.url.replace("127.0.0.1", "localhost") + "?application_name=elsewhere"
    with psycopg.connect(address) as connection:
        two.app.tasks["hello"].using(connection=connection).enqueue()
    assert two.jobs_in(two.app.url) == 1


async def test_an_effect_is_not_noted_in_another_database(two: Two) -> None:
    told: list[Any] = []

    @two.app.task
    def once(ctx: SyncContext) -> None:
        with psycopg.connect(two.other) as connection:
            try:
                ctx.once("charge", connection=connection)
            except InvalidOption as error:
                told.append(str(error))
                connection.rollback()

    async with two.app:
        await once.aenqueue()
        await two.app.worker(slots=1).run(burst=True)
    assert [text[:44] for text in told] == ["this connection is to another database than "]


async def test_where_the_jobs_cannot_be_asked_the_callers_word_stands(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away(**_: Any) -> None:
        asked.append(1)
        raise psycopg.OperationalError("away")

    with psycopg.connect(two.app.url) as connection:
        monkeypatch.setattr(homes.psycopg, "connect", away)
        for _ in range(3):
            two.app.tasks["hello"].using(connection=connection).enqueue()
    monkeypatch.undo()
    assert (two.jobs_in(two.app.url), len(asked)) == (3, 1)
