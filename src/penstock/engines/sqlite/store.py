"""The writing end of one database file: its lock, its connection, and the way a transaction is begun and ended."""

from __future__ import annotations

import os
import sqlite3
from contextlib import AbstractContextManager, nullcontext, suppress

from penstock.engines.sqlite import schema
from penstock.engines.sqlite.beats import Beats, renew_if_broken
from penstock.engines.sqlite.connection import connect_writer, identity, patiently
from penstock.engines.sqlite.failures import spoils_connection
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.instants import now_by
from penstock.engines.sqlite.lock import FileLock
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.statements import SQL
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable

CHECKPOINT_AT = 8 * 1_048_576  # bytes of log that make a checkpoint worth its pause
CHECKPOINT_WAIT = 50  # milliseconds to wait for readers of old pages


class Store:
    """Used by the writer thread alone, apart from opening and closing."""

    def __init__(self, files: Files, clock: Clock, synchronous: str) -> None:
        self._files = files
        self._clock = clock
        self._synchronous = synchronous
        self._lock = None if files.in_memory else FileLock(files.lock, files.turn)
        self._connection: sqlite3.Connection | None = None
        self._beats: Beats | None = None
        self._identity: tuple[int, int] | None = None
        self._checkpoint_at = CHECKPOINT_AT

    @property
    def database(self) -> str:
        return self._files.database

    def turn(self) -> AbstractContextManager[object]:
        """The right to write, among all processes; a database in memory has one process."""
        return self._lock or nullcontext()

    def open(self) -> None:
        """Connect and check the schema; a new file gets it."""
        with self.turn():
            self._connect()

    def migrate(self) -> list[str]:
        """Bring the schema up to date on a connection of its own."""
        with self.turn():
            connection = connect_writer(self._files, self._synchronous)
            try:
                return schema.migrate(connection, now_by(self._clock))
            finally:
                connection.close()

    def begin(self) -> sqlite3.Connection:
        """Open a write transaction, reconnecting where an earlier error cost the connection. Only in turn."""
        connection = self._connection or self._connect()
        if self._identity is not None and identity(self._files.database) != self._identity:
            raise EngineUnavailable(
                f"{self.database} was deleted or replaced while in use; nothing is written to the old file: "
                "close the engine and open it again"
            )
        patiently(connection, "begin immediate")
        return connection

    def transaction(self) -> Tx:
        assert self._connection is not None
        assert self._beats is not None
        return Tx(self._connection, self._beats, now_by(self._clock))

    def recover_from(self, error: Exception) -> None:
        """Undo what is open, and let go of a connection that cannot be trusted any more."""
        if self._connection is None:
            return
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("rollback")
        if spoils_connection(error) and not self._files.in_memory:
            self._disconnect()

    def checkpoint_if_long(self) -> None:
        """Fold the log into the file when it has grown. Only in turn."""
        if self._files.in_memory:
            return
        size = os.stat(self._files.wal).st_size
        if size >= self._checkpoint_at:
            busy = self.checkpoint()
            self._checkpoint_at = size + CHECKPOINT_AT if busy else CHECKPOINT_AT

    def checkpoint(self) -> bool:
        """Fold the log into the file; True where a reader of old pages kept it from being emptied."""
        if self._files.in_memory or self._connection is None:
            return False
        self._connection.execute(f"pragma busy_timeout = {CHECKPOINT_WAIT}")
        try:
            return bool(self._connection.execute("pragma wal_checkpoint(TRUNCATE)").fetchone()[0])
        finally:
            self._connection.execute("pragma busy_timeout = 250")

    def close(self) -> None:
        with self.turn():
            self._disconnect()
        if self._lock:
            self._lock.close()

    def _connect(self) -> sqlite3.Connection:
        connection = connect_writer(self._files, self._synchronous)
        try:
            schema.ensure(connection, self.database, now_by(self._clock))
            connection.execute(SQL["ends_create"])
            if not self._files.in_memory:
                renew_if_broken(self._files.beats)
                self._identity = identity(self._files.database)
            self._beats = Beats(self._files.beats)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._beats is not None:
            self._beats.close()
            self._beats = None
