"""PostgreSQL: psycopg's connections and asyncpg's."""

from __future__ import annotations

from typing import Any

from penstock.lent.connection import AsyncLent, Lent, Value
from penstock.lent.placeholders import named, pyformat

_IDLE = 0  # of libpq's states of a transaction


class Psycopg(Lent):
    """`psycopg.Connection`."""

    dialect = "postgresql"

    def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        with self.raw.cursor(row_factory=_as_tuple) as cursor:
            cursor.execute(pyformat(sql), named(values))
            return list(cursor.fetchall()) if cursor.description else []

    def in_transaction(self) -> bool:
        return _is_transactional(self.raw)

    def begin(self) -> None:
        if not self.in_transaction():
            self.raw.execute("begin")

    def commit(self) -> None:
        self.raw.commit()

    def rollback(self) -> None:
        self.raw.rollback()


class AsyncPsycopg(AsyncLent):
    """`psycopg.AsyncConnection`."""

    dialect = "postgresql"

    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        async with self.raw.cursor(row_factory=_as_tuple) as cursor:
            await cursor.execute(pyformat(sql), named(values))
            return list(await cursor.fetchall()) if cursor.description else []

    async def in_transaction(self) -> bool:
        return _is_transactional(self.raw)

    async def begin(self) -> None:
        if not await self.in_transaction():
            await self.raw.execute("begin")

    async def commit(self) -> None:
        await self.raw.commit()

    async def rollback(self) -> None:
        await self.raw.rollback()


class Asyncpg(AsyncLent):
    """`asyncpg.Connection`, also as its pool lends it: outside `transaction()` it is in autocommit."""

    dialect = "postgresql"
    _begun: Any = None  # by the driver's own means, so that its `transaction()` inside is a savepoint

    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.raw.fetch(sql, *values)]

    async def in_transaction(self) -> bool:
        return bool(self.raw.is_in_transaction())

    async def begin(self) -> None:
        if not await self.in_transaction():
            self._begun = self.raw.transaction()
            await self._begun.start()

    async def commit(self) -> None:
        await self._end("commit")

    async def rollback(self) -> None:
        await self._end("rollback")

    async def _end(self, how: str) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            await getattr(begun, how)()
        elif await self.in_transaction():
            await self.raw.execute(how)


def _as_tuple(_cursor: object) -> type[tuple[Any, ...]]:
    """A row factory: the caller may have chosen another."""
    return tuple


def _is_transactional(connection: Any) -> bool:
    return not connection.autocommit or connection.info.transaction_status != _IDLE
