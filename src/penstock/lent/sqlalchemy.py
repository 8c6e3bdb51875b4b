"""SQLAlchemy: connections and sessions, sync and async, on the drivers of SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.lent import sqlite
from penstock.lent.connection import AsyncLent, Dialect, Lent, Value
from penstock.lent.placeholders import named, pyformat
from penstock.model.errors import InvalidOption

T = TypeVar("T")


class SqlAlchemy(Lent):
    """`Connection`, `Session` and `scoped_session`."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self.dialect = _dialect(raw)

    def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        if self.dialect == "sqlite":
            return self.lend(lambda connection: sqlite.fetch(connection, sql, values))
        connection = self._connection()
        if connection.dialect.paramstyle == "numeric_dollar":
            found = connection.exec_driver_sql(sql, values)
        else:
            found = connection.exec_driver_sql(pyformat(sql), named(values))
        return [tuple(row) for row in found] if found.returns_rows else []

    def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        assert self.dialect == "sqlite"
        connection = self._connection()
        connection.exec_driver_sql("select 1")  # so that it knows of a transaction to commit
        return _on_driver(connection, work)

    def in_transaction(self) -> bool:
        connection = self._connection()
        connection.exec_driver_sql("select 1")  # begins one, unless it is in autocommit
        if self.dialect == "sqlite":
            return _on_driver(connection, sqlite.is_transactional)
        driver = connection.connection.driver_connection
        is_open = getattr(driver, "is_in_transaction", None)  # asyncpg
        return bool(is_open() if is_open else driver.info.transaction_status)

    def begin(self) -> None:
        if not self.in_transaction():
            raise InvalidOption("the connection is in AUTOCOMMIT; lend one that has transactions")

    def commit(self) -> None:
        self.raw.commit()

    def rollback(self) -> None:
        self.raw.rollback()

    def _connection(self) -> Any:
        """The Connection; a session's is that of its transaction, which it begins where it has none."""
        return self.raw if hasattr(self.raw, "exec_driver_sql") else self.raw.connection()


class AsyncSqlAlchemy(AsyncLent):
    """`AsyncConnection`, `AsyncSession`, `async_scoped_session`: the sync ones, as SQLAlchemy runs them."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self.dialect = _dialect(raw)

    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        return await self._run(lambda inner: inner.fetch(sql, *values))

    async def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._run(lambda inner: inner.lend(work))

    async def in_transaction(self) -> bool:
        return await self._run(SqlAlchemy.in_transaction)

    async def begin(self) -> None:
        await self._run(SqlAlchemy.begin)

    async def commit(self) -> None:
        await self.raw.commit()

    async def rollback(self) -> None:
        await self.raw.rollback()

    async def _run(self, work: Callable[[SqlAlchemy], T]) -> T:
        done: T = await self.raw.run_sync(lambda inner: work(SqlAlchemy(inner)))
        return done


def _on_driver(connection: Any, work: Callable[[sqlite3.Connection], T]) -> T:
    behind = connection.connection
    if isinstance(behind.driver_connection, sqlite3.Connection):
        return work(behind.driver_connection)
    done: T = behind.dbapi_connection.run_async(lambda driver: sqlite.in_its_thread(driver, work))
    return done


def _dialect(raw: Any) -> Dialect:
    name: Dialect = (raw if hasattr(raw, "dialect") else raw.get_bind()).dialect.name
    if name not in ("sqlite", "postgresql"):
        raise InvalidOption(f"jobs can be put in over connections to SQLite and PostgreSQL, not to {name}")
    return name
