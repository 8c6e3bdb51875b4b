"""Limits and breakers, as they are declared and as they stand."""

from __future__ import annotations

from typing import NamedTuple

from penstock.model.limits import NO_LIMIT, Limit

DECLARED_FOR = 7 * 86_400.0  # seconds


class Group(NamedTuple):
    """Lanes under one limit: see "Lanes and limits" above."""

    name: str
    limit: Limit = NO_LIMIT  # of all its lanes together
    per_key: Limit = NO_LIMIT  # of each lane that has a key
    needs: tuple[str, ...] = ()  # breakers

    @property
    def bounds_something(self) -> bool:
        return self[1:] != (NO_LIMIT, NO_LIMIT, ())


class GroupState(NamedTuple):
    """A group as it stands. Of a queue's own group only what limits count is known."""

    group: Group
    active: int  # jobs of it that run
    cooled_for: float | None  # seconds for which it starts nothing


class LaneState(NamedTuple):
    """A limited lane that holds jobs, or whose limits are not worked off yet."""

    lane: str
    waiting: int
    active: int
    opens_in: float | None  # seconds until it may start something; None: now, or when a run has ended


class LimitState(NamedTuple):
    """One of the limits that a lane is under: of its queue, of its group, or of its key by itself."""

    of: str  # the queue, the group, or the lane
    limit: Limit
    needs: tuple[str, ...]  # breakers
    active: int
    cooled_for: float | None  # seconds for which nothing starts
    spent_for: float | None  # seconds until its rate lets something start; None: it does


class Entry(NamedTuple):
    """The answer to one who asks a breaker: whether to go on; else after how many seconds to ask again."""

    allowed: bool
    retry_in: float | None = None  # None: when a probe has ended
