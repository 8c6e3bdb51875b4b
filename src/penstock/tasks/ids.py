"""New job ids: in order within a process, whichever threads make them, and never shared with a fork."""

from __future__ import annotations

import os
from threading import Lock
from time import time_ns

from penstock.model.ids import COUNTER_BITS, RANDOM_BITS, uuid7

_COUNTER_END = 1 << COUNTER_BITS
_RANDOM_BYTES = 6
_POOL = 512 * _RANDOM_BYTES


class IdMaker:
    """Makes version-7 UUIDs that grow even where the host's clock stands still or steps back.

    Within a millisecond the counter grows from a random start, so that an id does not tell its neighbours.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._ms = 0
        self._counter = 0
        self._pool = (
            b""  # randomness of the system's, asked for rarely because that takes longer than the rest
        )
        self._at = 0

    def __call__(self) -> str:
        with self._lock:
            ms = time_ns() // 1_000_000
            if ms > self._ms:
                self._ms = ms
                self._counter = self._random() >> (RANDOM_BITS - COUNTER_BITS + 1)
            else:
                self._counter += 1
                if self._counter == _COUNTER_END:
                    self._ms += 1
                    self._counter = 0
            return uuid7(self._ms, self._counter, self._random())

    def _random(self) -> int:
        if self._at >= len(self._pool):
            self._pool = os.urandom(_POOL)
            self._at = 0
        start = self._at
        self._at = start + _RANDOM_BYTES
        return int.from_bytes(self._pool[start : self._at]) >> (_RANDOM_BYTES * 8 - RANDOM_BITS)

    def after_fork(self) -> None:
        """Another thread may have held the lock; the pool's randomness is the parent's too."""
        self._lock = Lock()
        self._pool = b""


new_id = IdMaker()
os.register_at_fork(after_in_child=new_id.after_fork)
