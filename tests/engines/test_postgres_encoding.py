"""Text comes back equal whatever encodings the environment asks for, or is refused at the door."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from conformance.kit import new, news
from penstock.engines.postgres.engine import PostgresEngine
from penstock.model.errors import EngineError
from servers import fresh_schema, postgres_server

TEXT = '{"name":"café 日本"}'


async def test_a_client_encoding_of_the_url_or_the_environment_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    engine = PostgresEngine(f"{postgres_server().url()}?client_encoding=latin1", schema=fresh_schema())
    await engine.migrate()
    await engine.open()
    one, many = new(args=TEXT, owner="café"), [job._replace(args=TEXT) for job in news(60)]
    await engine.enqueue([one])
    await engine.enqueue(many)
    for job in (one, many[0]):
        found = await engine.get(job.id)
        assert found is not None
        assert (found.args, found.owner) == (json.loads(TEXT), job.owner)
    await engine.close()


@pytest.fixture
def latin1() -> Iterator[str]:
    """The URL of a database that cannot hold every text."""
    server, name = postgres_server(), fresh_schema()
    server.psql(f"create database {name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0")
    yield server.url(name)
    server.psql(f"drop database {name} with (force)")


async def test_a_database_that_cannot_hold_every_text_is_refused_with_what_to_do(latin1: str) -> None:
    engine = PostgresEngine(latin1, schema=fresh_schema())
    with pytest.raises(EngineError, match=r"LATIN1.*create one with"):
        await engine.migrate()
    with pytest.raises(EngineError, match="LATIN1"):
        await engine.open()
