"""The writing end of one database file: its lock, its connection, its checkpoints."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from penstock.engines.sqlite import schema
from penstock.engines.sqlite.beats import Beats
from penstock.engines.sqlite.connection import BUSY_SLICE, connect_reader, connect_writer, identity, patiently
from penstock.engines.sqlite.failures import spoils_connection
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.forks import Desk
from penstock.engines.sqlite.held import HeldConnection
from penstock.engines.sqlite.instants import now_by
from penstock.engines.sqlite.lock import FairLock
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.statements import SQL
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable

log = logging.getLogger("penstock.engine")

FOLD_AT = 16 * 1_048_576  # bytes of log that make a checkpoint worth its pause
FOLD_WARNING = 64 * 1_048_576
FOLD_WAIT = 50  # milliseconds to wait for readers of old pages


def _refuse_strange_file(files: Files) -> None:
    """DatabaseError where the file is none of SQLite's: before the first lock is put beside it."""
    database = Path(files.database)
    if files.in_memory or Path(files.lock).exists() or not database.exists():
        return
    try:
        with Desk(files), closing(connect_reader(files)) as connection:
            connection.execute("pragma schema_version").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise  # all else is told when it is opened


class Store:
    """Used by the writer thread alone, apart from opening and closing."""

    def __init__(self, files: Files, clock: Clock, synchronous: str) -> None:
        self._files = files
        self._clock = clock
        self._synchronous = synchronous
        self._path = Path(files.database)
        self._wal = Path(files.wal)
        _refuse_strange_file(files)
        self._lock = None if files.in_memory else FairLock(files.lock, files.turn)
        self._connection: sqlite3.Connection | None = None
        self._beats: Beats | None = None
        self._identity: tuple[int, int] | None = None
        self._fold_at = FOLD_AT
        self._desk = Desk(files, self._disconnect)

    @property
    def database(self) -> str:
        return self._files.database

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The right to write, among all processes; a database in memory has one process."""
        with (
            self._lock or nullcontext(),
            self._desk,
        ):  # in this order: a fork need not wait for other processes
            yield

    def open(self) -> None:
        """Connect and check the schema; a new file gets it."""
        with self.turn():
            self._connect()

    def migrate(self) -> list[str]:
        """Bring the schema up to date on a connection of its own."""
        with self.turn():
            connection = connect_writer(self._files, self._synchronous)
            try:
                return schema.migrate(connection, self.database, now_by(self._clock))
            finally:
                connection.close()

    def begin(self) -> sqlite3.Connection:
        """Open a write transaction, reconnecting where an earlier error cost the connection. Only in turn."""
        if self._identity is not None and identity(self._path) != self._identity:
            raise EngineUnavailable(
                f"{self.database} was deleted or replaced while in use; nothing is written to the old file: "
                "close the engine and open it again"
            )
        connection = self._connection or self._connect()
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

    def fold_log(self, *, at_once: bool = False) -> None:
        """Fold the log into the file, when it has grown or at once. Only in turn, outside a transaction."""
        if self._files.in_memory or self._connection is None:
            return
        size = self._wal.stat().st_size
        if not at_once and size < self._fold_at:
            return
        emptied = self._checkpoint(self._connection)
        self._fold_at = FOLD_AT if emptied else size + FOLD_AT
        if not emptied and size > FOLD_WARNING:
            log.warning("%s-wal has grown to %d bytes: a reader holds old pages", self.database, size)

    @staticmethod
    def _checkpoint(connection: sqlite3.Connection) -> bool:
        """Whether the log could be emptied. What it holds is committed: failing here loses nothing."""
        connection.execute(f"pragma busy_timeout = {FOLD_WAIT}")
        try:
            return not connection.execute("pragma wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError:
            log.warning("a checkpoint failed; the log keeps growing until one succeeds", exc_info=True)
            return False
        finally:
            connection.execute(f"pragma busy_timeout = {int(BUSY_SLICE * 1_000)}")

    def close(self) -> None:
        with self.turn():
            self._disconnect()
        if self._lock:
            self._lock.close()

    def _connect(self) -> sqlite3.Connection:
        # A database in memory has one connection: handlers get the same in their transactions.
        kind = HeldConnection if self._files.in_memory else sqlite3.Connection
        connection = connect_writer(self._files, self._synchronous, kind)
        try:
            schema.ensure(connection, self.database, now_by(self._clock))
            connection.execute(SQL["ends_create"])
            if not self._files.in_memory:
                self._identity = identity(self._path)
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
