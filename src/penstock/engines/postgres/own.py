"""Transactions of handlers, on connections of our own, which are kept for the next ones."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from penstock.engines.postgres import failures
from penstock.engines.postgres.endings import AsyncInBlockCursor, InBlockCursor
from penstock.engines.postgres.lent import PostgresOnLent
from penstock.engines.postgres.pool import ISOLATION, options_of, usable
from penstock.lent import AsyncLent, Lent
from penstock.lent.postgres import AsyncPsycopg, Psycopg
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable, OutcomeUnknown

Sync: TypeAlias = psycopg.Connection[Any]
Async: TypeAlias = psycopg.AsyncConnection[Any]

# What an earlier transaction has left in the session is no business of the next. `discard all` would do the
# same, but in no transaction, and behind a pooler it would take away what others have prepared.
# Who stands still, in a process that was stopped, keeps what it has locked for as long as its worker is
# believed to live. Local to the transaction: behind a pooler the session belongs to nobody.
_FRESH = (
    "reset session authorization; reset role; reset all; close all; unlisten *; discard temp; "
    "select pg_advisory_unlock_all(); set local idle_in_transaction_session_timeout = {ms}"
)


class PostgresTransactions:
    """See `penstock.engine.Transactions`.

    There are at most `most` connections, unless more transactions are open at once.
    """

    def __init__(self, url: str, schema: str, clock: Clock, most: int) -> None:
        self._options = {**options_of(url), "autocommit": True, "prepare_threshold": None}
        self.on_lent = PostgresOnLent(schema, clock)
        self._most = most
        self._lock = threading.Lock()  # for all below
        self._in_use = 0
        self._idle: list[Sync] = []
        self._idle_async: list[tuple[asyncio.AbstractEventLoop, Async]] = []
        self._pid = os.getpid()

    def begin(self, lease: float) -> Own:
        with self._typed(), self._in_hand():
            connection = self._taken() or self._connected()
            try:
                connection.isolation_level = ISOLATION
                block = psycopg.Transaction(connection)
                block.__enter__()
                connection.execute(_fresh(lease))
            except BaseException:
                connection.close()
                raise
        return Own(self, connection, block)

    async def abegin(self, lease: float) -> AsyncOwn:
        with self._typed(), self._in_hand():
            connection = self._taken_async() or await self._connected_async()
            try:
                await connection.set_isolation_level(ISOLATION)
                block = psycopg.AsyncTransaction(connection)
                await block.__aenter__()
                await connection.execute(_fresh(lease))
            except BaseException:
                await connection.close()
                raise
        return AsyncOwn(self, connection, block)

    def _connected(self) -> Sync:
        return psycopg.Connection.connect(**self._options, cursor_factory=InBlockCursor)

    async def _connected_async(self) -> Async:
        return await psycopg.AsyncConnection.connect(**self._options, cursor_factory=AsyncInBlockCursor)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            idle_async, self._idle_async = self._idle_async, []
        for connection in idle:
            connection.close()
        for _, other in idle_async:
            _close(other)

    @contextmanager
    def _in_hand(self) -> Iterator[None]:
        """Counted, unless it does not come about."""
        self._leave_to_parent()
        with self._lock:
            self._in_use += 1
        try:
            yield
        except BaseException:
            with self._lock:
                self._in_use -= 1
            raise

    def _taken(self) -> Sync | None:
        with self._lock:
            while self._idle:
                if usable(connection := self._idle.pop()):
                    return connection
                connection.close()
            if self._idle_async and self._is_full():
                _close(self._idle_async.pop(0)[1])
        return None

    def _taken_async(self) -> Async | None:
        here = asyncio.get_running_loop()
        with self._lock:
            while self._idle_async:
                loop, connection = self._idle_async.pop()
                if loop is here and usable(connection):
                    return connection
                _close(connection)
            if self._idle and self._is_full():
                self._idle.pop(0).close()
        return None

    def _is_full(self) -> bool:
        """The one that is just taken counts."""
        return self._in_use + len(self._idle) + len(self._idle_async) > self._most

    def _leave_to_parent(self) -> None:
        """After a fork: the driver closes no connection that another process has made."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = threading.Lock()
            self._idle, self._idle_async, self._in_use = [], [], 0

    def keep(self, connection: Sync) -> bool:
        """Keep it for the next; False where it is not fit for that, or there are enough."""
        with self._lock:
            if kept := self._may_keep(connection):
                self._idle.append(connection)
        return kept

    def keep_async(self, connection: Async) -> bool:
        with self._lock:
            if kept := self._may_keep(connection):
                self._idle_async.append((asyncio.get_running_loop(), connection))
        return kept

    def _may_keep(self, connection: Sync | Async) -> bool:
        is_ours = self._pid == os.getpid()
        self._in_use -= is_ours
        is_fit = connection.pgconn.transaction_status == TransactionStatus.IDLE
        return is_ours and is_fit and self._in_use + len(self._idle) + len(self._idle_async) < self._most

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            host, port = self._options.get("host", "localhost"), self._options.get("port", 5432)
            raise failures.not_connected(error, f"{host}:{port}") from error


class Own:
    """One transaction in a handler's hands. The driver lets nobody call commit() inside its own block,
    and our cursors send no statement that would do the same.
    """

    def __init__(self, owner: PostgresTransactions, connection: Sync, block: psycopg.Transaction) -> None:
        self._owner = owner
        self._block = block
        self._ended = False
        self.connection = connection
        self.lent: Lent = Psycopg(connection)

    def execute(self, sql: str, values: Any) -> psycopg.Cursor[Any]:
        return self.connection.execute(sql, values)

    def commit(self) -> None:
        self._ended = True
        with self._given_back(), _said(self._block):
            self._block.__exit__(None, None, None)

    def rollback(self) -> None:
        if not self._ended:
            self._ended = True
            with self._given_back():
                self._block.__exit__(psycopg.Rollback, psycopg.Rollback(), None)

    @contextmanager
    def _given_back(self) -> Iterator[None]:
        """Kept for the next where the block ends as it should; else the driver's count of blocks is wrong."""
        try:
            yield
        except BaseException:
            self.connection.close()
            raise
        finally:
            if not self._owner.keep(self.connection):
                self.connection.close()


class AsyncOwn:
    """The same for a handler on an event loop."""

    def __init__(
        self, owner: PostgresTransactions, connection: Async, block: psycopg.AsyncTransaction
    ) -> None:
        self._owner = owner
        self._block = block
        self._ended = False
        self.connection = connection
        self.lent: AsyncLent = AsyncPsycopg(connection)

    async def execute(self, sql: str, values: Any) -> psycopg.AsyncCursor[Any]:
        return await self.connection.execute(sql, values)

    async def commit(self) -> None:
        self._ended = True
        async with self._given_back():
            with _said(self._block):
                await self._block.__aexit__(None, None, None)

    async def rollback(self) -> None:
        if not self._ended:
            self._ended = True
            async with self._given_back():
                await self._block.__aexit__(psycopg.Rollback, psycopg.Rollback(), None)

    @asynccontextmanager
    async def _given_back(self) -> AsyncIterator[None]:
        """As of the other."""
        try:
            yield
        except BaseException:
            await self.connection.close()
            raise
        finally:
            if not self._owner.keep_async(self.connection):
                await self.connection.close()


@contextmanager
def _said(block: psycopg.Transaction | psycopg.AsyncTransaction) -> Iterator[None]:
    """Whether it was committed, or that nobody knows: the driver does not tell of a line lost before."""
    try:
        yield
    except psycopg.OperationalError as error:
        if error.sqlstate is None or failures.is_lost(error, block.pgconn.status != 0):
            raise OutcomeUnknown(
                f"the connection was lost while the work was being committed: {error}"
            ) from error
        raise
    if block.status is not block.Status.COMMITTED:
        raise EngineUnavailable("the connection was lost before the work was committed; nothing was kept")


def _close(connection: Async) -> None:
    """At once, whichever loop it belongs to, which may be gone: there is nothing to wait for."""
    with suppress(StopIteration):
        connection.close().send(None)


def _fresh(lease: float) -> bytes:
    return _FRESH.format(ms=max(1, int(min(lease, 2_000_000.0) * 1_000))).encode()
