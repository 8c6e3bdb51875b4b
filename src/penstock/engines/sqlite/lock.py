"""The turn to write, shared fairly between processes."""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self


class FileLock(AbstractContextManager["FileLock"]):
    """Held while writing. Who waits stands in a turnstile, so that nobody who just wrote goes first again.

    With one lock alone the process that let go takes it again before a sleeping one has woken up.
    """

    def __init__(self, lock: str, turn: str) -> None:
        self._turn = os.open(turn, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def __enter__(self) -> Self:
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._turn)
        os.close(self._lock)
