"""How connections are opened: the settings on which durability and fairness rest."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from penstock.engines.sqlite.failures import is_busy
from penstock.engines.sqlite.files import Files
from penstock.model.errors import EngineUnavailable, InvalidOption

BUSY_SLICE = 0.25  # seconds SQLite itself waits for a lock before we look whether to go on waiting
PATIENCE = 60.0  # seconds to wait for a stranger's write transaction before giving up
WAL_KEPT = 4 * 1_048_576  # bytes of the log that stay on disk after a checkpoint
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


def check_synchronous(level: str) -> str:
    if level.upper() not in _SYNCHRONOUS:
        raise InvalidOption(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, not {level!r}")
    return level.upper()


def connect(path: str, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """A connection in autocommit: every transaction is written out, and none begins by itself."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SLICE,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=kind,
    )
    connection.row_factory = sqlite3.Row
    return connection


def connect_writer(
    files: Files, synchronous: str, kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    """A writing connection. Opened only under the lock: changing the journal mode bears no company."""
    connection = connect(files.database, kind)
    try:
        for pragma in (
            f"journal_mode = {'MEMORY' if files.in_memory else 'WAL'}",
            f"synchronous = {synchronous}",
            f"journal_size_limit = {WAL_KEPT}",
            # SQLite before 3.51.3 can corrupt a file when a checkpoint meets a write: only we checkpoint.
            "wal_autocheckpoint = 0",
            "cache_size = -6000",
            "temp_store = MEMORY",
        ):
            patiently(connection, f"pragma {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(files: Files) -> sqlite3.Connection:
    connection = connect(files.database)
    connection.execute("pragma query_only = on")
    return connection


def patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Run a statement that must wait its turn behind connections which are not ours."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            if time.monotonic() > deadline:
                raise EngineUnavailable(
                    f"another connection has held the write lock for {PATIENCE:g} s; "
                    "keep your own write transactions short"
                ) from error
        else:
            return


def identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at `path` now; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
