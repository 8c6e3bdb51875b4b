"""What handlers leave behind: how many began, when the first did, how long each had waited.

A memory-mapped file per worker process, so that watching costs the store nothing. Standard library only: the
peers use it too.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct("qd")  # handlers begun, when the first did
_WAIT = struct.Struct("d")
MOST_WAITS = 1_000


class Mark:
    """Written by the handlers of one process."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / str(os.getpid())
        with path.open("w+b") as file:
            file.truncate(_HEADER.size + MOST_WAITS * _WAIT.size)
            self._memory = mmap.mmap(file.fileno(), 0)
        self._begun = 0
        self._first = 0.0

    def begin(self, sent_at: float) -> None:
        """A handler begins; `sent_at` is when its job was about to be enqueued, 0 where nobody asks."""
        if not self._begun:
            self._first = time.monotonic()
        if sent_at and self._begun < MOST_WAITS:
            wait = time.monotonic() - sent_at
            _WAIT.pack_into(self._memory, _HEADER.size + self._begun * _WAIT.size, wait)
        self._begun += 1
        _HEADER.pack_into(self._memory, 0, self._begun, self._first)


class Seen(NamedTuple):
    """The marks of all processes together."""

    begun: int
    first: float
    waits: list[float]


def look(folder: Path) -> Seen:
    marks = [mark for path in folder.iterdir() if (mark := path.read_bytes())]  # some may be just begun
    headers = [_HEADER.unpack_from(mark) for mark in marks]
    waits = [wait for mark in marks for (wait,) in _WAIT.iter_unpack(mark[_HEADER.size :]) if wait]
    return Seen(sum(n for n, _ in headers), min((at for n, at in headers if n), default=0.0), waits)


def begun(folder: Path) -> int:
    """Asked every millisecond while they work: reads no more than it must."""
    return sum(_HEADER.unpack(head)[0] for path in folder.iterdir() if (head := _head(path)))


def _head(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        return file.read(_HEADER.size)
