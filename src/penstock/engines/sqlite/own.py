"""Transactions of handlers, on connections of our own: under the engine's lock, and not for long."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from penstock.engine import Engine
from penstock.engines.sqlite.connection import connect_writer, patiently
from penstock.engines.sqlite.failures import typed, typed_errors
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.forks import Desk
from penstock.engines.sqlite.held import HeldConnection
from penstock.engines.sqlite.lent import SqliteOnLent
from penstock.engines.sqlite.lock import FairLock
from penstock.engines.sqlite.opened import Opened
from penstock.engines.sqlite.servant import Servant
from penstock.engines.sqlite.store import Store
from penstock.lent import AsyncLent, Lent, Value
from penstock.lent.sqlite import Sqlite, fetch
from penstock.model.clock import Clock
from penstock.model.errors import EngineError

T = TypeVar("T")

SHARE = 0.3  # of the lease: others wait that long, and must not be given up meanwhile


class SqliteTransactions:
    """See `penstock.engine.Transactions`."""

    def __init__(self, path: str, clock: Clock, engine: Callable[[], Engine]) -> None:
        self._files = Files.at(path)
        self._engine = engine  # that is open: it alone can reach a database in memory
        self.on_lent = SqliteOnLent(path, clock, own=True)

    def begin(self, lease: float) -> Held:
        with typed_errors(self._files.database):
            if self._files.in_memory:
                engine = self._engine()
                assert isinstance(engine, Opened)
                return Held(_in_memory(engine.store()), None)
            return Held(_in_file(self._files), lease * SHARE)

    async def abegin(self, lease: float) -> AsyncHeld:
        servant = Servant()
        try:
            held = await servant.do(lambda: self.begin(lease), undo=Held.rollback)
        except BaseException:
            servant.dismiss()
            raise
        return AsyncHeld(held, servant)

    def close(self) -> None:
        """Nothing is kept from one transaction to the next."""


class Held:
    """One write transaction in a handler's hands."""

    def __init__(self, taken: AbstractContextManager[HeldConnection], seconds: float | None) -> None:
        self._taken = taken
        self._ending = threading.Lock()
        self._ended = False
        self.connection = taken.__enter__()
        self.lent: Lent = Sqlite(self.connection)
        self._timer = None if seconds is None else threading.Timer(seconds, self._overrun, (seconds,))
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def execute(self, sql: str, values: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.connection.execute(sql, values)
        return cursor

    def commit(self) -> None:
        with self._ending:
            try:
                self.connection.let_go()
                patiently(self.connection, "commit")
            except sqlite3.Error as error:
                raise typed(error, "sqlite", committing=True) from error
            finally:
                self._end()

    def rollback(self) -> None:
        with self._ending:
            self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._ended:
            self._ended = True
            self._taken.__exit__(None, None, None)

    def _overrun(self, seconds: float) -> None:
        """From the timer's thread: whatever the handler does, others go on."""
        with self._ending:
            if not self._ended:
                self.connection.take_away(
                    f"ctx.transaction() was open for more than {seconds:g} s and was undone: meanwhile "
                    "nobody else can write to the file. Do slow work before the block; inside it enqueue "
                    "by ctx.enqueue() or using(connection=tx.connection), which need no other connection"
                )
                self._end()


class AsyncHeld:
    """One write transaction in the hands of a handler on an event loop: a thread has it."""

    def __init__(self, held: Held, servant: Servant) -> None:
        self._held = held
        self._servant = servant
        self.lent: AsyncLent = _InThread(held.connection, servant)

    async def execute(self, sql: str, values: Any) -> Rows:
        return await self._servant.do(lambda: Rows(self._held.execute(sql, values)))

    async def commit(self) -> None:
        await self._servant.finish(self._held.commit)

    async def rollback(self) -> None:
        await self._servant.finish(self._held.rollback)


class Rows:
    """What a statement answered, read to the end in its thread."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self.rowcount = cursor.rowcount
        self.lastrowid = cursor.lastrowid
        self._rows = iter(cursor.fetchall())

    async def fetchone(self) -> Any:
        return next(self._rows, None)

    async def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __aiter__(self) -> Rows:
        return self

    async def __anext__(self) -> Any:
        for row in self._rows:
            return row
        raise StopAsyncIteration


class _InThread(AsyncLent):
    dialect = "sqlite"

    def __init__(self, raw: HeldConnection, servant: Servant) -> None:
        super().__init__(raw)
        self._servant = servant

    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        return await self._servant.do(lambda: fetch(self.raw, sql, values))

    async def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._servant.do(lambda: work(self.raw))

    async def in_transaction(self) -> bool:
        return bool(self.raw.in_transaction)

    async def begin(self) -> None: ...

    async def commit(self) -> None:
        raise AssertionError("AsyncHeld does that")

    async def rollback(self) -> None:
        raise AssertionError("AsyncHeld does that")


@contextmanager
def _in_file(files: Files) -> Iterator[HeldConnection]:
    """The turn to write and a connection of its own; a fork waits for it, as for the engine's."""
    lock = FairLock(files.lock, files.turn)
    try:
        with lock, Desk(files):
            connection = connect_writer(files, "FULL", HeldConnection)
            assert isinstance(connection, HeldConnection)
            try:
                connection.row_factory = None
                patiently(connection, "begin immediate")
                with _held(connection):
                    yield connection
            finally:
                connection.close()
    finally:
        lock.close()


@contextmanager
def _in_memory(store: Store) -> Iterator[HeldConnection]:
    """The engine's only connection, while its writer waits."""
    with store.turn():
        connection = store.begin()
        assert isinstance(connection, HeldConnection)
        before, connection.row_factory = connection.row_factory, None
        try:
            with _held(connection):
                yield connection
        finally:
            connection.row_factory = before


@contextmanager
def _held(connection: HeldConnection) -> Iterator[None]:
    connection.hold()
    try:
        yield
    finally:
        with suppress(EngineError, sqlite3.Error):
            connection.let_go()
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("rollback")
