"""Verbs inside the caller's own transaction, on his own connection to the engine's file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from penstock.engine import Effect, Settlement
from penstock.engines.sqlite import effects, enqueue, schema, settle
from penstock.engines.sqlite.failures import is_busy, is_callers_fault, typed
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.freed import finish
from penstock.engines.sqlite.held import HeldConnection
from penstock.engines.sqlite.instants import now_by
from penstock.engines.sqlite.lock import FairLock
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.statements import SQL
from penstock.lent import AsyncLent, Dialect, Lent, require
from penstock.lent.sqlite import as_we_read_it, explained, joined
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable, InvalidOption
from penstock.model.job import Enqueued, NewJob

T = TypeVar("T")


class SqliteOnLent:
    """See `penstock.engine.OnLent`."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: str, clock: Clock, *, own: bool = False) -> None:
        self._files = Files.at(path)
        self._clock = clock
        self._own = own  # the connections are ours, and lead where they should

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        require(lent, self.dialect)
        return lent.lend(self._verb(lambda tx: enqueue.enqueue(tx, jobs, again=again)))

    async def aenqueue(
        self, lent: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False
    ) -> Sequence[Enqueued]:
        require(lent, self.dialect)
        return await lent.lend(self._verb(lambda tx: enqueue.enqueue(tx, jobs, again=again)))

    def settle(self, lent: Lent, end: Settlement) -> bool:
        require(lent, self.dialect)
        return lent.lend(self._verb(lambda tx: settle.complete(tx, end)))

    async def asettle(self, lent: AsyncLent, end: Settlement) -> bool:
        require(lent, self.dialect)
        return await lent.lend(self._verb(lambda tx: settle.complete(tx, end)))

    def once(self, lent: Lent, effect: Effect) -> bool:
        require(lent, self.dialect)
        return lent.lend(self._verb(lambda tx: effects.once(tx, effect)))

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool:
        require(lent, self.dialect)
        return await lent.lend(self._verb(lambda tx: effects.once(tx, effect)))

    def _verb(self, verb: Callable[[Tx], T]) -> Callable[[sqlite3.Connection], T]:
        """A verb as work for a connection: whole or not at all, as a part of its transaction."""

        def work(connection: sqlite3.Connection) -> T:
            with as_we_read_it(connection), self._typed_errors(), self._explained():
                if isinstance(connection, HeldConnection):
                    connection.check_open()
                if not self._own:
                    self._check_file(connection)
                # As everywhere: only the engine checkpoints.
                connection.execute("pragma wal_autocheckpoint = 0")
                with joined(connection, self._turn(connection)):
                    _take_write_lock(connection)
                    if not self._own:
                        schema.check(connection, self._files.database)
                    tx = Tx(connection, None, now_by(self._clock))
                    answer = verb(tx)
                    finish(tx)
                    return answer

        return work

    @contextmanager
    def _turn(self, connection: sqlite3.Connection) -> Iterator[None]:
        """The turn to write, among all processes: held only until the transaction has begun.

        Without it a busy engine would starve the caller. He waits for it as long as his connection would wait
        for a lock: the one who has the turn may itself wait for another transaction of the caller's.
        """
        [patience] = connection.execute("pragma busy_timeout").fetchone()
        lock = FairLock(self._files.lock, self._files.turn)
        try:
            if not lock.take(time.monotonic() + patience / 1_000):
                raise self._busy("database is locked")
            yield
        finally:
            lock.close()

    def _check_file(self, connection: sqlite3.Connection) -> None:
        """InvalidOption where the connection is to another file than the engine's."""
        [main] = [row["file"] for row in connection.execute("pragma database_list") if row["name"] == "main"]
        if self._files.in_memory and isinstance(connection, HeldConnection):
            return  # that of ctx.transaction(): the engine's only one
        if self._files.in_memory or not main or os.path.realpath(main) != self._files.database:
            raise InvalidOption(
                f"the jobs live in {self._files.database}, and this connection is to "
                f"{main or 'a database in memory'}: a transaction cannot span both. Lend a connection to the "
                "jobs' own file; or give the app outbox=…, the database of your own tables"
            )

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise (self._busy(error) if is_busy(error) else typed(error, self._files.database)) from error
        except OSError as error:
            raise EngineUnavailable(f"{self._files.database}: {error}; nothing was changed") from error

    def _explained(self) -> AbstractContextManager[None]:
        return nullcontext() if self._own else explained()

    def _busy(self, why: object) -> EngineUnavailable:
        return EngineUnavailable(
            f"{self._files.database}: {why}; nothing was changed. Roll back and try again; a transaction "
            "that reads before it writes is best begun with BEGIN IMMEDIATE"
        )


def _take_write_lock(connection: sqlite3.Connection) -> None:
    """First of all: a transaction that has read may not write any more once another has."""
    try:
        connection.execute(SQL["write_nothing"])
    except sqlite3.OperationalError as error:
        if not is_callers_fault(error):  # without our tables, which is told later
            raise
