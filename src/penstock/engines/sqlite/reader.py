"""A thread that reads, on a connection of its own: it waits for no writer."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from penstock.engines.sqlite.beats import Beats
from penstock.engines.sqlite.connection import connect_reader
from penstock.engines.sqlite.failures import is_callers_fault, typed
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.forks import Desk
from penstock.engines.sqlite.instants import now_by
from penstock.engines.sqlite.session import Session
from penstock.model.clock import Clock
from penstock.model.errors import EngineUnavailable

T = TypeVar("T")


class Reader:
    """Runs looks at the database, one after the other, each in one snapshot."""

    def __init__(self, files: Files, clock: Clock, name: str) -> None:
        self._files = files
        self._clock = clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"penstock-sqlite-{name}")
        self._open: tuple[sqlite3.Connection, Beats] | None = None  # of who is at the desk
        self._desk = Desk(files, self._disconnect)

    async def run(self, look: Callable[[Session], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._at_desk, look)

    def stop(self) -> None:
        """Finish what is queued, and let go of the files. Blocks."""
        self._pool.shutdown()
        with self._desk:
            self._disconnect()

    def _at_desk(self, look: Callable[[Session], T]) -> T:
        with self._desk:
            return self._look(look)

    def _look(self, look: Callable[[Session], T]) -> T:
        try:
            connection, beats = self._open or self._connect()
            connection.execute("begin")
            try:
                return look(Session(connection, beats, now_by(self._clock)))
            finally:
                connection.execute("rollback")
        except sqlite3.Error as error:
            if not is_callers_fault(error):
                self._disconnect()
            raise typed(error, self._files.database) from error
        except OSError as error:  # no more files may be opened, for one
            self._disconnect()
            raise EngineUnavailable(f"{self._files.database}: {error}") from error

    def _connect(self) -> tuple[sqlite3.Connection, Beats]:
        self._open = connect_reader(self._files), Beats(self._files.beats)
        return self._open

    def _disconnect(self) -> None:
        if self._open:
            connection, beats = self._open
            self._open = None
            connection.close()
            beats.close()
