"""Heartbeats, in a file of their own: a long write transaction on the jobs expires nobody."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from penstock.engines.sqlite.connection import connect, patiently
from penstock.engines.sqlite.files import MEMORY
from penstock.engines.sqlite.lock import FileLock
from penstock.engines.sqlite.statements import SQL

FOLD_AT = 1_048_576  # bytes of log


class Beat(NamedTuple):
    """The last one of a worker."""

    until: int
    memory: int | None


class Beats:
    """Until when each worker lives. A row that is gone never comes back: expiry is final.

    Each thread has an object of its own. Writes take turns by a lock of their own, so that a checkpoint
    never meets a write; reads wait for nobody.
    """

    def __init__(self, path: str) -> None:
        self._lock = None if path == MEMORY else FileLock(f"{path}-lock")
        self._wal = Path(f"{path}-wal")
        self._connection = connect(path)
        with self._lock or nullcontext():
            patiently(self._connection, "pragma journal_mode = WAL")
            patiently(self._connection, SQL["beats_create"])
            self._add_memory()
        # Workers do not outlive the host, so their heartbeats need not either.
        self._connection.execute("pragma synchronous = NORMAL")
        self._connection.execute("pragma wal_autocheckpoint = 0")

    def _add_memory(self) -> None:
        """To a file that was made without it."""
        if "memory" not in {row[0] for row in self._read(SQL["beats_columns"], ())}:
            patiently(self._connection, SQL["beats_memory"])

    def begin(self, worker: str, until: int) -> None:
        self._write(SQL["beats_begin"], (worker, until))

    def extend(self, worker: str, until: int, now: int, memory: int | None = None) -> bool:
        """Live on; False where the time had already passed."""
        return self._write(SQL["beats_extend"], (until, memory, worker, now)) == 1

    def end(self, worker: str) -> None:
        self._write(SQL["beats_end"], (worker,))

    def end_passed(self, now: int) -> None:
        """Make it final for all whose time has passed."""
        self._write(SQL["beats_end_passed"], (now,))

    def until(self, worker: str) -> int:
        """When the worker's time ends; 0 where it has."""
        row = self._read(SQL["beats_until"], (worker,))
        return row[0][0] if row else 0

    def all(self) -> dict[str, Beat]:
        return {row[0]: Beat(row[1], row[2]) for row in self._read(SQL["beats_all"], ())}

    def close(self) -> None:
        self._connection.close()
        if self._lock:
            self._lock.close()

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        if self._lock is None:
            return self._connection.execute(statement, values).rowcount
        with self._lock:
            changed = self._connection.execute(statement, values).rowcount
            if self._wal.stat().st_size > FOLD_AT:
                self._connection.execute("pragma wal_checkpoint(TRUNCATE)").fetchall()
        return changed

    def _read(self, statement: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return self._connection.execute(statement, values).fetchall()
