"""Heartbeats, in a file of their own: a long write transaction on the jobs expires nobody."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from penstock.engines.sqlite.connection import connect, patiently
from penstock.engines.sqlite.statements import SQL


class Beats:
    """Until when each worker lives. A row that is gone never comes back: expiry is final.

    Each thread has an object of its own.
    """

    def __init__(self, path: str) -> None:
        self._connection = connect(path)
        # Workers do not outlive the host, so their heartbeats need not either.
        self._connection.execute("pragma synchronous = OFF")
        patiently(self._connection, "pragma journal_mode = TRUNCATE")
        patiently(self._connection, SQL["beats_create"])

    def begin(self, worker: str, until: int) -> None:
        self._write(SQL["beats_begin"], (worker, until))

    def extend(self, worker: str, until: int, now: int) -> bool:
        """Live on; False where the time had already passed."""
        return self._write(SQL["beats_extend"], (until, worker, now)) == 1

    def end(self, worker: str) -> None:
        self._write(SQL["beats_end"], (worker,))

    def end_passed(self, now: int) -> None:
        """Make it final for all whose time has passed."""
        self._write(SQL["beats_end_passed"], (now,))

    def until(self, worker: str) -> int:
        """When the worker's time ends; 0 where it has."""
        row = self._read(SQL["beats_until"], (worker,))
        return row[0][0] if row else 0

    def all(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._read(SQL["beats_all"], ())}

    def close(self) -> None:
        self._connection.close()

    def _write(self, statement: str, values: tuple[object, ...]) -> int:
        patiently(self._connection, "begin immediate")
        try:
            changed = self._connection.execute(statement, values).rowcount
            patiently(self._connection, "commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise
        return changed

    def _read(self, statement: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        return self._connection.execute(statement, values).fetchall()


def renew_if_broken(path: str) -> None:
    """Start afresh where a power cut left the file unreadable. Only under the lock of the main file."""
    try:
        beats = Beats(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
    else:
        beats.close()
        return
    for name in (path, f"{path}-journal"):
        Path(name).unlink(missing_ok=True)
