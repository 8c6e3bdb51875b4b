"""How much a limit lets through now. Instants are microseconds, as everywhere in this engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from penstock.engines.sqlite.instants import SECOND
from penstock.model.limits import Limit, opens_in, permits, spend

_EXACT = 1.0  # microsecond by which instants may be off that were added up as fractions


class Bound(Protocol):
    """Something that may keep a job from starting."""

    def room(self, now: int) -> int | None:
        """How many may start now; None: no bound."""

    def start(self, now: int, job_id: str, /) -> bool:
        """One more starts; whether it is to try something."""
        ...

    def closed_for(self, now: int) -> float | None:
        """Seconds for which nothing starts, where only time is needed; 0 where it is open; None: a run must
        end first."""


@dataclass(slots=True)
class Gauge:
    """A limit, and what of it is used."""

    limit: Limit
    active: int = 0
    spent_until: float = 0.0
    cooled_until: int = 0
    changed: bool = False

    def room(self, now: int) -> int | None:
        if self.cooled_until > now:
            return 0
        by_rate = permits(self.limit, self._ahead(now), 0.0)
        if self.limit.concurrency is None:
            return by_rate
        places = max(0, self.limit.concurrency - self.active)
        return places if by_rate is None else min(places, by_rate)

    def start(self, now: int, _job_id: str, /) -> bool:
        self.active += 1
        if self.limit.rate is not None:
            ahead = spend(self.limit, (self.spent_until - now) / SECOND, 0.0, 1)
            self.spent_until = now + ahead * SECOND
            self.changed = True
        return False

    def closed_for(self, now: int) -> float | None:
        if self.room(now) != 0:
            return 0.0
        if self._is_full():
            return None
        return max(self._cooled_for(now), opens_in(self.limit, self._ahead(now), 0.0))

    def held_for(self, now: int) -> tuple[float | None, float | None]:
        """Seconds for which it is cooled down, and until its rate lets something start; None: it is not."""
        by_rate = permits(self.limit, self._ahead(now), 0.0) == 0
        spent = opens_in(self.limit, self._ahead(now), 0.0) if by_rate else None
        return self._cooled_for(now) or None, spent

    def opens_at(self, now: int) -> int | None:
        """The instant from which one may start, where only time is needed for it."""
        if self._is_full():
            return None
        earned = 0
        if self.limit.rate is not None:
            in_hand = (self.limit.burst - 1) / self.limit.rate
            earned = math.ceil(self.spent_until - in_hand * SECOND - _EXACT)
        return max(earned, self.cooled_until, now + 1)

    def has_come_free(self, ended: int) -> bool:
        """Whether there was no place before so many had ended, and is now."""
        places = self.limit.concurrency
        return places is not None and self.active < places <= self.active + ended

    def _ahead(self, now: int) -> float:
        return (self.spent_until - now - _EXACT) / SECOND

    def _cooled_for(self, now: int) -> float:
        return max(0, self.cooled_until - now) / SECOND

    def _is_full(self) -> bool:
        return self.limit.concurrency is not None and self.active >= self.limit.concurrency
