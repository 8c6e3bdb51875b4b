"""What schedules will do in a time: which ticks fall into it, and when the clocks of their zones change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

from penstock.model.schedule import Timing
from penstock.model.zones import next_change, offset

MOST_RUNS = 60  # of one schedule: of one that runs more often the first are told, and that there are more
_INSTANT = timedelta(microseconds=1)


class Runs(NamedTuple):
    """The ticks of one schedule in a time."""

    at: list[datetime]
    more: bool  # and more


class Seam(NamedTuple):
    """Where the clocks of a zone are put forward, or back where it is negative."""

    zone: str
    at: datetime
    forward: float  # seconds


def runs_between(timing: Timing, next_at: datetime, since: datetime, until: datetime) -> Runs:
    """Its ticks from `since` on and before `until`; none comes before `next_at`, whatever the timing says."""
    begin = max(since, next_at)
    ticks = timing.upcoming(begin - _INSTANT)
    if next_at == begin:
        ticks = _beginning_with(next_at, ticks)
    found = list(islice(takewhile(lambda at: at < until, ticks), MOST_RUNS + 1))
    return Runs(found[:MOST_RUNS], len(found) > MOST_RUNS)


def _beginning_with(first: datetime, ticks: Iterator[datetime]) -> Iterator[datetime]:
    """The next tick of a schedule stands, also where its timing was changed since."""
    yield first
    yield from (at for at in ticks if at > first)


def seams_between(zones: Iterable[ZoneInfo], since: datetime, until: datetime) -> list[Seam]:
    """Every change of clocks in these zones, by time."""
    found = []
    for zone in zones:
        at = next_change(zone, since, until)
        while at is not None:
            forward = offset(zone, at) - offset(zone, at - timedelta(seconds=1))
            found.append(Seam(zone.key, at, forward.total_seconds()))
            at = next_change(zone, at, until)
    return sorted(found, key=lambda seam: (seam.at, seam.zone))
