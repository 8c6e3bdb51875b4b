"""Probes of one process: does it live, and can it take jobs?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """Whether the loops of this process go round. Where not, only a new process helps."""

    alive: bool
    stuck: tuple[str, ...] = ()  # the loops that have not come round in their time


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether this process can put jobs in now."""

    ready: bool
    took: float  # seconds
    error: str | None = None  # what keeps it from that; or, where it is ready, what is away all the same


class Pulse:
    """Where the loops of a process say that they have come round. Touched by its event loop only."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def beat(self, loop: str, within: float) -> None:
        """This loop goes round, and will again within so many seconds."""
        self._until[loop] = self._monotonic() + within

    def ended(self, loop: str) -> None:
        """This loop has ended, as it was meant to."""
        self._until.pop(loop, None)

    def stuck(self) -> tuple[str, ...]:
        """The loops that have not come round in their time."""
        now = self._monotonic()
        return tuple(sorted(loop for loop, until in self._until.items() if until < now))


def liveness(pulse: Pulse | None = None) -> Liveness:
    """That this is answered at all shows that the event loop goes round; `pulse` knows of the others.

    The engine is not asked: a new process brings back no database.
    """
    stuck = pulse.stuck() if pulse is not None else ()
    return Liveness(alive=not stuck, stuck=stuck)
