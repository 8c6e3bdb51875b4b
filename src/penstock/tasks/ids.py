"""New job ids: in order within a process, whichever threads make them, and never shared with a fork."""

from __future__ import annotations

import os
from random import getrandbits
from threading import Lock
from time import time_ns

from penstock.model.ids import COUNTER_BITS, RANDOM_BITS, uuid7

_COUNTER_END = 1 << COUNTER_BITS


class IdMaker:
    """Makes version-7 UUIDs that grow even where the host's clock stands still or steps back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ms = 0
        self._counter = 0

    def __call__(self) -> str:
        with self._lock:
            ms = time_ns() // 1_000_000
            if ms > self._ms:
                self._ms = ms
                self._counter = 0
            else:
                self._counter += 1
                if self._counter == _COUNTER_END:
                    self._ms += 1
                    self._counter = 0
                ms = self._ms
            counter = self._counter
        return uuid7(ms, counter, getrandbits(RANDOM_BITS))

    def after_fork(self) -> None:
        """Another thread may have held the lock at the moment of the fork."""
        self._lock = Lock()


new_id = IdMaker()
os.register_at_fork(after_in_child=new_id.after_fork)
