"""Waiting between tries of our own: jittered, growing, capped."""

from __future__ import annotations

import random


class Backoff:
    """Each `next()` is about twice the one before; `reset()` after a success."""

    def __init__(self, first: float = 0.05, cap: float = 1.0) -> None:
        self._first = first
        self._cap = cap
        self._tries = 0

    def next(self) -> float:
        seconds = min(self._first * 2.0 ** min(self._tries, 20), self._cap)
        self._tries += 1
        return seconds * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._tries = 0


def jittered(seconds: float, share: float = 0.2) -> float:
    """Shorter by up to this share, so that many processes do not march in step."""
    return seconds * random.uniform(1.0 - share, 1.0)
