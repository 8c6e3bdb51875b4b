"""Lent connections: each kind is known by its class alone, and does what its owner would expect of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lent_kit import KINDS, Kind, User, done
from penstock.lent import AsyncLent, Lent, lent
from penstock.model.errors import InvalidOption

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")


@pytest.fixture
def address(kind: Kind, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind.dialect == "sqlite":
        return str(tmp_path / "own.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


async def fetch(user: User, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = await done(lent(user.raw).fetch(sql, *values))
    return rows


async def make_table(user: User) -> None:
    await user.begin()
    await user.execute("create table if not exists notes (text text)")
    await user.execute("delete from notes")
    await user.commit()


async def test_is_recognised_with_its_dialect_and_its_manners(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        found = lent(user.raw)
        assert found.raw is user.raw
        assert found.dialect == kind.dialect
        assert isinstance(found, AsyncLent if kind.is_async else Lent)


async def test_a_statement_takes_values_by_number_and_answers_plain_tuples(kind: Kind, address: str) -> None:
    sql = "select cast($2 as text), '100%', cast($1 as integer), cast($3 as text), cast($2 as text)"
    async with kind.open(address) as user:
        rows = await fetch(user, sql, 7, "né '%s' $1 :x", None)
        assert rows == [("né '%s' $1 :x", "100%", 7, None, "né '%s' $1 :x")]
        assert all(type(row) is tuple for row in rows)


async def test_what_is_rolled_back_is_gone_and_what_is_committed_stays(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        await make_table(user)
        for text, end in ("lost", user.rollback), ("kept", user.commit):
            await user.begin()
            assert await fetch(user, "insert into notes values (cast($1 as text))", text) == []
            await end()
    async with kind.open(address) as user:
        assert await fetch(user, "select text from notes") == [("kept",)]


async def test_a_savepoint_of_the_caller_undoes_it(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        await make_table(user)
        await user.begin()
        await fetch(user, "insert into notes values ('before')")
        await user.savepoint()
        await fetch(user, "insert into notes values ('lost')")
        await user.back_to_savepoint()
        await user.savepoint()
        await fetch(user, "insert into notes values ('after')")
        await user.keep_savepoint()
        await user.commit()
    async with kind.open(address) as user:
        assert await fetch(user, "select text from notes order by 1") == [("after",), ("before",)]


async def test_tells_whether_what_comes_next_can_be_rolled_back(kind: Kind, address: str) -> None:
    in_autocommit = "autocommit" in kind.name or "asyncpg" in kind.name.split()[0] or kind.name == "django"
    async with kind.open(address) as user:
        found = lent(user.raw)
        assert await done(found.in_transaction()) is not in_autocommit
        await user.begin()
        assert await done(found.in_transaction()) is True
        await user.rollback()


async def test_a_transaction_of_ours_is_committed_or_rolled_back_by_us(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        await make_table(user)
        found = lent(user.raw)
        for text, end in ("lost", found.rollback), ("kept", found.commit):
            await done(found.begin())
            assert await done(found.in_transaction())
            await fetch(user, "insert into notes values (cast($1 as text))", text)
            await done(end())
    async with kind.open(address) as user:
        assert await fetch(user, "select text from notes") == [("kept",)]


async def test_ending_what_was_never_begun_does_nothing(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        await done(lent(user.raw).commit())
        await done(lent(user.raw).rollback())


async def test_lends_the_sqlite_connection_or_says_that_there_is_none(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        if kind.dialect == "postgresql":
            with pytest.raises((NotImplementedError, AssertionError)):
                await done(lent(user.raw).lend(lambda connection: connection))
            return
        await make_table(user)
        await user.begin()
        await done(lent(user.raw).lend(_note))
        await user.commit()
    async with kind.open(address) as user:
        assert await fetch(user, "select text from notes") == [("lent",)]


def _note(connection: sqlite3.Connection) -> None:
    assert isinstance(connection, sqlite3.Connection)
    connection.execute("insert into notes values ('lent')")


async def test_a_failed_statement_raises_what_the_caller_knows(kind: Kind, address: str) -> None:
    async with kind.open(address) as user:
        with pytest.raises(Exception, match="no_such") as caught:
            await fetch(user, "select * from no_such")
        assert not isinstance(caught.value, InvalidOption)
