"""Running statements: in one round trip, within time limits, tried again where nothing can have happened."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar

import psycopg

from penstock.engines.postgres import failures, straight
from penstock.engines.postgres.pool import Pool
from penstock.engines.postgres.straight import Rows, Session
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown

log = logging.getLogger("penstock.engine")

T = TypeVar("T")
Connection: TypeAlias = Session

TRIES = 5
PAUSE = 0.05  # seconds; twice as long with every try
# Behind a pooler a session belongs to nobody: there the limits are local to each transaction.
_LIMITS = "select set_config('lock_timeout', '2s', true), set_config('statement_timeout', '15s', true)"
# A plan that is made for any values does not know which of them are rare.
_FOR_THESE_VALUES = "select set_config('plan_cache_mode', 'force_custom_plan', true)"


class Call(NamedTuple):
    """One statement and its values."""

    sql: str
    values: dict[str, Any]
    texts: Sequence[bytes | None] | None = None  # the values as they are sent, where they were written before

    def written(self) -> Call:
        """The same, with less to be done when it is sent. What cannot be written is refused only then."""
        with suppress(psycopg.Error):
            return self._replace(texts=straight.texts_of(self.sql, self.values))
        return self


class Database:
    """The pool, and the rules for using it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def run(self, *calls: Call, repeatable: bool) -> list[Rows]:
        """The rows of each statement; all in one transaction and one round trip.

        `repeatable` says that doing it twice does no harm: then it is tried again even after a lost answer.
        """

        async def work(connection: Connection) -> list[Rows]:
            if len(calls) == 1 and self.pool.ours:
                return [await straight.query(connection, *calls[0])]
            return [await _rows(cursor) for cursor in await _pipelined(connection, calls)]

        return await self._try(work, repeatable)

    def tell(
        self, sql: str, values: Callable[[], Sequence[bytes | None]], otherwise: Callable[[], Call]
    ) -> Awaitable[object]:
        """One statement that has no answer but that it was done; `otherwise` where sessions are not ours."""

        def work(connection: Connection) -> Awaitable[object]:
            if self.pool.ours:
                return straight.send(connection, sql, values())
            return _pipelined(connection, [otherwise()])

        return self._try(work, repeatable=False)

    async def records(self, call: Call, *, for_these_values: bool = False) -> list[dict[str, Any]]:
        """The rows of a query by the names of their columns; where asked for, by a plan of its own."""
        calls = [Call(_FOR_THESE_VALUES, {}), call] if for_these_values else [call]

        async def work(connection: Connection) -> list[dict[str, Any]]:
            *_, cursor = await _pipelined(connection, calls)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]

        return await self._try(work, repeatable=True)

    async def use(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Several round trips that change nothing."""
        return await self._try(work, repeatable=True)

    async def transact(self, work: Callable[[Connection], Awaitable[T]], *, repeatable: bool) -> T:
        """Several round trips in one transaction."""

        async def whole(connection: Connection) -> T:
            async with connection.transaction():
                if not self.pool.ours:
                    await connection.execute(_LIMITS)
                return await work(connection)

        return await self._try(whole, repeatable)

    async def _try(self, work: Callable[[Connection], Awaitable[T]], repeatable: bool) -> T:
        # Without a call for each try: every statement passes here, and is to cost little before it is sent.
        tried = 0
        while True:
            tried += 1
            connection = None
            try:
                connection = self.pool.take_idle() or await self.pool.take()
                answer = work(connection)
                self.pool.time(connection)  # mostly it is sent already: this is done while the server works
                return await answer
            except EngineError as error:
                if tried == TRIES or not _can_be_repeated(error, repeatable):
                    raise
            except psycopg.Error as error:
                assert connection is not None
                problem = await self._problem(connection, error)
                if tried == TRIES or not _can_be_repeated(problem, repeatable):
                    raise problem from error
            finally:
                if connection is not None and (closing := self.pool.give_back(connection)) is not None:
                    await closing
            await asyncio.sleep(PAUSE * 2**tried * random.uniform(0.5, 1.5))

    async def _problem(self, connection: Connection, error: psycopg.Error) -> EngineError:
        problem = failures.translate(error, lost=failures.is_lost(error, connection.broken))
        if error.sqlstate in failures.NOT_OUR_SESSION:
            self.pool.ours = False
            log.warning("a pooler mixes up sessions, nothing is prepared any more: %s", error)
        if error.sqlstate in {failures.READ_ONLY, *failures.NOT_OUR_SESSION}:
            await connection.close()
            await self.pool.drop_idle()
        return problem


def _can_be_repeated(problem: EngineError, repeatable: bool) -> bool:
    return repeatable if isinstance(problem, OutcomeUnknown) else isinstance(problem, EngineUnavailable)


async def _pipelined(connection: Connection, calls: Sequence[Call]) -> list[psycopg.AsyncCursor[Any]]:
    # Up to the pipeline's end is one transaction by itself, but it would be committed even where a later
    # statement cannot be sent: only an explicit one stays open then, and is dropped with its connection.
    # Behind a pooler, only an explicit one has our isolation level.
    async with connection.pipeline():
        await connection.execute("begin isolation level read committed")
        await connection.execute(_LIMITS)
        cursors = [await connection.execute(call.sql.encode(), call.values, binary=True) for call in calls]
        await connection.execute("commit")
    return cursors


async def query(connection: Connection, call: Call) -> Rows:
    """The rows of one statement, inside a transaction of the caller's."""
    cursor = await connection.execute(call.sql.encode(), call.values, binary=True)
    return await _rows(cursor)


async def _rows(cursor: psycopg.AsyncCursor[Any]) -> Rows:
    return await cursor.fetchall() if cursor.description else []
