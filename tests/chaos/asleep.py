"""A machine that sleeps: its own clock stands still meanwhile, and the engine's, on another machine, goes on.

A worker that was only stopped sees by its clock that its lease is over, and settles nothing. After a sleep it
sees no such thing: it goes on as if nothing had been, and only the engine can refuse what it says.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

from penstock.runtime import board

VARIABLE = "CHAOS_ASLEEP"  # where to read who has slept, and for how long

_FORM = struct.Struct("qd")


class Clock:
    """Stands in for `time` where a worker looks at the age of its lease."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY)

    def monotonic(self) -> float:
        pid, slept = _FORM.unpack(os.pread(self._fd, _FORM.size, 0))
        return time.monotonic() - (slept if pid == os.getpid() else 0.0)


def tell(path: Path, pid: int = 0, slept: float = 0.0) -> None:
    """This process has slept for so many seconds; nobody has, unless told."""
    path.write_bytes(_FORM.pack(pid, slept))


def install() -> None:
    """In a worker that was started with the variable set."""
    if path := os.environ.get(VARIABLE):
        board.time = Clock(path)  # type: ignore[assignment]
