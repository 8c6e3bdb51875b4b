"""New job ids: in order within a process, whichever threads make them, and never shared with a fork."""

from __future__ import annotations

import os
from threading import Lock
from time import time_ns

from penstock.model.ids import COUNTER_BITS, RANDOM_DIGITS, stem

COUNTER_END = 1 << COUNTER_BITS
_DIGITS = "0123456789abcdef"
_POOL = 512  # random parts of ids that are made at once


class IdMaker:
    """Makes version-7 UUIDs that grow even where the host's clock stands still or steps back.

    Within a millisecond the counter grows from a random start, so that an id does not tell its neighbours.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._ms = 0
        self._counter = 0
        self._stem = ""  # what ids begin with: it changes with every sixteenth
        self._pool: list[str] = []  # of the system's randomness, which is asked for rarely: that takes long

    def __call__(self) -> str:
        with self._lock:
            ms = time_ns() // 1_000_000
            if ms > self._ms:
                self._begin(ms)
            elif self._counter % 16 == 15:
                self._carry()
            else:
                self._counter += 1
            random = self._pool.pop() if self._pool else self._random()
            return self._stem + _DIGITS[self._counter % 16] + random

    def _begin(self, ms: int) -> None:
        """A new millisecond: the counter starts anew, in its lower half so that there is room above."""
        self._go_to(ms, int(self._random(), 16) % (COUNTER_END // 2))

    def _carry(self) -> None:
        ms, counter = self._ms, self._counter + 1
        self._go_to(*((ms, counter) if counter < COUNTER_END else (ms + 1, 0)))

    def _go_to(self, ms: int, counter: int) -> None:
        """All at once: whoever is interrupted on the way has changed nothing."""
        begins = stem(ms, counter)
        self._ms, self._counter, self._stem = ms, counter, begins

    def _random(self) -> str:
        if not self._pool:
            digits = os.urandom(_POOL * RANDOM_DIGITS // 2).hex()
            self._pool = [digits[at : at + RANDOM_DIGITS] for at in range(0, len(digits), RANDOM_DIGITS)]
        return self._pool.pop()

    def after_fork(self) -> None:
        """Another thread may have held the lock; the pool's randomness is the parent's too."""
        self._lock = Lock()
        self._pool = []


new_id = IdMaker()
os.register_at_fork(after_in_child=new_id.after_fork)
