"""What a caller may have done to his connection, and what is no connection at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from lent_kit import done, set_up_django
from penstock.lent import Lent, lent
from penstock.lent.sqlite import joined
from penstock.model.errors import InvalidOption


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table notes (text text)")
    yield connection
    connection.close()


@pytest.mark.parametrize("stranger", [None, "postgresql://", 7, Lent], ids=str)
def test_what_is_no_connection_is_refused_with_the_kinds_that_are(stranger: object) -> None:
    with pytest.raises(InvalidOption, match=r"sqlite3, aiosqlite, psycopg, asyncpg, SQLAlchemy .* or Django"):
        lent(stranger)


def test_psycopg2s_own_connection_is_refused_with_what_can_be_lent_instead() -> None:
    connection = type("connection", (), {"__module__": "psycopg2.extensions"})()
    with pytest.raises(InvalidOption, match=r"psycopg2.*SQLAlchemy's or Django's around it.*psycopg 3"):
        lent(connection)


def test_a_subclass_of_a_known_connection_is_known() -> None:
    class Own(sqlite3.Connection): ...

    connection = sqlite3.connect(":memory:", factory=Own)
    assert lent(connection).dialect == "sqlite"
    connection.close()


def test_another_database_of_sqlalchemys_is_refused() -> None:
    from sqlalchemy import create_mock_engine
    from sqlalchemy.orm import Session

    with pytest.raises(InvalidOption, match="not to mysql"):
        lent(Session(create_mock_engine("mysql://", lambda *_: None)))  # type: ignore[arg-type]


def test_the_callers_row_and_text_factories_are_neither_used_nor_lost(connection: sqlite3.Connection) -> None:
    def factory(_cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
        return {"row": row}

    connection.row_factory, connection.text_factory = factory, bytes
    found = lent(connection)
    assert isinstance(found, Lent)
    assert found.fetch("select 'a'") == [("a",)]
    assert connection.execute("select 'a'").fetchone() == {"row": (b"a",)}


def test_psycopgs_row_factory_is_not_used(postgres_url: str) -> None:
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(postgres_url, row_factory=dict_row) as connection:
        found = lent(connection)
        assert isinstance(found, Lent)
        assert found.fetch("select 1 as one") == [(1,)]


async def test_asyncpgs_codecs_for_json_are_not_used(postgres_url: str) -> None:
    import json

    import asyncpg

    connection = await asyncpg.connect(postgres_url)
    await connection.set_type_codec("json", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    assert await done(lent(connection).fetch("select $1::text::json::text", '{"a":1}')) == [('{"a":1}',)]
    await connection.close()


def test_sqlalchemys_autocommit_is_told_apart(postgres_url: str) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(
        postgres_url.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        found = lent(connection)
        assert isinstance(found, Lent)
        assert not found.in_transaction()
        with pytest.raises(InvalidOption, match="AUTOCOMMIT"):
            found.begin()
    engine.dispose()


async def test_a_sync_session_inside_run_sync_lends_what_is_behind_it() -> None:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    async with AsyncSession(engine) as session:
        assert await session.run_sync(lambda inner: lent(inner).fetch("select 7")) == [(7,)]
    await engine.dispose()


def test_djangos_proxy_is_its_connection() -> None:
    set_up_django()
    from django.db import connection

    found = lent(connection)
    assert isinstance(found, Lent)
    assert found.fetch("select 7") == [(7,)]
    connection.close()


def fail_half_way(connection: sqlite3.Connection) -> None:
    with joined(connection):
        connection.execute("insert into notes values ('half')")
        raise ZeroDivisionError


def test_what_fails_half_way_leaves_the_rest_of_the_transaction(connection: sqlite3.Connection) -> None:
    connection.execute("insert into notes values ('before')")
    with pytest.raises(ZeroDivisionError):
        fail_half_way(connection)
    connection.commit()
    assert connection.execute("select text from notes").fetchall() == [("before",)]


@pytest.mark.parametrize("level", [None, "deferred"])
def test_what_fails_half_way_in_a_transaction_of_its_own_leaves_none_open(
    connection: sqlite3.Connection, level: None
) -> None:
    connection.isolation_level = level
    with pytest.raises(ZeroDivisionError):
        fail_half_way(connection)
    assert not connection.in_transaction
    assert connection.execute("select text from notes").fetchall() == []


def test_without_a_transaction_the_callers_next_statements_join_ours(connection: sqlite3.Connection) -> None:
    with joined(connection):
        connection.execute("insert into notes values ('ours')")
    assert connection.in_transaction
    connection.rollback()
    assert connection.execute("select text from notes").fetchall() == []


def test_in_autocommit_ours_is_committed_at_once(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None
    with joined(connection):
        connection.execute("insert into notes values ('ours')")
    assert not connection.in_transaction
    assert connection.execute("select text from notes").fetchall() == [("ours",)]
