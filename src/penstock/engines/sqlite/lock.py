"""Locks between processes: the turn to write, shared fairly."""

from __future__ import annotations

import fcntl
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from penstock.engines.sqlite.forks import Descriptor

LOOK = 0.002  # seconds between tries of one who does not wait for ever


class FileLock(AbstractContextManager["FileLock"]):
    """A lock between processes, and between threads that have an object each."""

    def __init__(self, path: str) -> None:
        self._file = Descriptor(path)

    def __enter__(self) -> Self:
        fcntl.flock(self._file.number, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def take(self, until: float) -> bool:
        """Take it, where it comes free before `until` by the monotonic clock."""
        while True:
            try:
                fcntl.flock(self._file.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(LOOK)
            else:
                return True

    def release(self) -> None:
        fcntl.flock(self._file.number, fcntl.LOCK_UN)

    def close(self) -> None:
        self._file.close()


class FairLock(FileLock):
    """Who waits stands in a turnstile, so that nobody who just held the lock goes first again.

    With one lock alone the process that let go takes it again before a sleeping one has woken up.
    """

    def __init__(self, path: str, turn: str) -> None:
        super().__init__(path)
        self._turn = FileLock(turn)

    def __enter__(self) -> Self:
        with self._turn:
            return super().__enter__()

    def take(self, until: float) -> bool:
        if not self._turn.take(until):
            return False
        try:
            return super().take(until)
        finally:
            self._turn.release()

    def close(self) -> None:
        super().close()
        self._turn.close()
