"""SQLite: the standard library's connection, and aiosqlite's around one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from penstock.lent.connection import AsyncLent, Lent, Value
from penstock.lent.placeholders import numbered
from penstock.model.errors import InvalidOption

T = TypeVar("T")

_LEGACY = -1  # sqlite3.LEGACY_TRANSACTION_CONTROL, from Python 3.12 on


class Sqlite(Lent):
    """`sqlite3.Connection`."""

    dialect = "sqlite"

    def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        return self.lend(lambda connection: fetch(connection, sql, values))

    def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with explained():
            return work(self.raw)

    def in_transaction(self) -> bool:
        return self.lend(is_transactional)

    def begin(self) -> None:
        self.lend(begin)

    def commit(self) -> None:
        end(self.raw, "commit")

    def rollback(self) -> None:
        end(self.raw, "rollback")


class Aiosqlite(AsyncLent):
    """`aiosqlite.Connection`: its connection lives in a thread of its own."""

    dialect = "sqlite"

    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        return await self.lend(lambda connection: fetch(connection, sql, values))

    async def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await in_its_thread(self.raw, work)

    async def in_transaction(self) -> bool:
        return await self.lend(is_transactional)

    async def begin(self) -> None:
        await self.lend(begin)

    async def commit(self) -> None:
        await self.lend(lambda connection: end(connection, "commit"))

    async def rollback(self) -> None:
        await self.lend(lambda connection: end(connection, "rollback"))


async def in_its_thread(connection: Any, work: Callable[[sqlite3.Connection], T]) -> T:
    """Do `work` in the thread of an aiosqlite connection; it has no public name for that."""
    with explained():
        done: T = await connection._execute(work, connection._conn)
        return done


def fetch(connection: sqlite3.Connection, sql: str, values: tuple[Value, ...]) -> list[tuple[Any, ...]]:
    with as_we_read_it(connection), joined(connection):
        cursor = connection.cursor()
        cursor.row_factory = None
        return cursor.execute(numbered(sql), values).fetchall()


@contextmanager
def explained() -> Iterator[None]:
    """InvalidOption for a connection by which nothing can be written, whatever is asked of it."""
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        if _is_closed(error):
            raise InvalidOption("this connection is closed; lend one that is open") from error
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            raise InvalidOption(
                f"nothing can be written by this connection ({error}); lend one that was opened without "
                "mode=ro, with `pragma query_only = off`, to a file that this process may write to"
            ) from error
        raise


def _is_closed(error: Exception) -> bool:
    """By what sqlite3 and aiosqlite say of it: neither has a code for it."""
    said = str(error)
    return "closed database" in said or said in ("Connection closed", "no active connection")


def is_autocommit(connection: sqlite3.Connection) -> bool:
    """Whether a statement outside any transaction is one by itself."""
    control = getattr(connection, "autocommit", _LEGACY)
    return connection.isolation_level is None if control == _LEGACY else bool(control)


def is_transactional(connection: sqlite3.Connection) -> bool:
    return connection.in_transaction or not is_autocommit(connection)


def begin(connection: sqlite3.Connection) -> None:
    if not connection.in_transaction:
        connection.execute("begin immediate")


def end(connection: sqlite3.Connection, how: str) -> None:
    """Commit or roll back, also what was begun in autocommit."""
    if getattr(connection, "autocommit", _LEGACY) is False:
        getattr(connection, how)()
    elif connection.in_transaction:
        connection.execute(how)


@contextmanager
def joined(connection: sqlite3.Connection, turn: AbstractContextManager[Any] | None = None) -> Iterator[None]:
    """Do what is inside whole or not at all, as a part of the caller's transaction.

    Where none is open, one is begun, in `turn`: his commit ends it; in autocommit, where he would not, we do.
    """
    if connection.in_transaction:
        yield from _savepoint(connection)
        return
    with turn or nullcontext():
        begin(connection)
    try:
        yield
        if is_autocommit(connection):
            connection.execute("commit")
    except BaseException:
        end(connection, "rollback")
        raise


def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("savepoint penstock_lent")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # some errors have undone all of it
            connection.execute("rollback to penstock_lent")
            connection.execute("release penstock_lent")
        raise
    connection.execute("release penstock_lent")


@contextmanager
def as_we_read_it(connection: sqlite3.Connection) -> Iterator[None]:
    """Without the caller's way of reading rows and text."""
    before = connection.row_factory, connection.text_factory
    connection.row_factory, connection.text_factory = sqlite3.Row, str
    try:
        yield
    finally:
        connection.row_factory, connection.text_factory = before


def save_block(connection: sqlite3.Connection) -> None:
    """Mark the transaction of a block."""
    begin(connection)  # or the savepoint would be the transaction, and its release a commit
    connection.execute("savepoint penstock_block")


def release_block(connection: sqlite3.Connection) -> bool:
    """Whether it is still there, and no longer: a savepoint is gone with its transaction."""
    if not connection.in_transaction:
        return False
    try:
        connection.execute("release penstock_block")
    except sqlite3.OperationalError as error:
        if "no such savepoint" in str(error):
            return False
        raise
    return True
