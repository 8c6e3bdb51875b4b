"""When a schedule ticks, and what becomes of ticks that were missed.

**Cron.** An expression of times of day (`15 4 * * *`) means the clock on the wall of its zone: each such time
runs once a day. One that the wall skips, because clocks are put forward, runs at the first instant after the
gap; one that it shows twice runs the first time. An expression whose minute or hour begins with `*` means
something that recurs: it runs whenever the wall shows such a minute, so it goes on by elapsed time, twice in
an hour that comes twice and not at all in one that does not come.

**Intervals** count from `start`, else from 1970: whoever computes them, they are the same.

**Missed** is a tick that is more than LATE seconds old when somebody comes to fire it, or that another has
followed already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from penstock.model.cron import Cron
from penstock.model.errors import InvalidOption, in_seconds
from penstock.model.ids import COUNTER_BITS, RANDOM_BITS, uuid7
from penstock.model.zones import first_instant, next_change, offset, on_wall, read_zone

Missed: TypeAlias = Literal["skip", "once", "all"]

LATE = timedelta(seconds=60)
MOST_MADE_UP = 100  # ticks that "all" makes up for, the latest of them
LEAST_EVERY = 1.0  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)
_FURTHEST_BACK = timedelta(days=41 * 365)  # a 29 February of one weekday may be 40 years apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Made by `timing()`, which checks it."""

    cron: Cron | None
    every: timedelta | None
    zone: ZoneInfo
    start: datetime | None = None
    end: datetime | None = None

    @property
    def in_words(self) -> str:
        """`15 4 * * * America/Sao_Paulo`, or `every 45 min`."""
        if self.cron is not None:
            return f"{self.cron.text} {self.zone.key}"
        assert self.every is not None
        seconds = self.every.total_seconds()
        for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
            if seconds >= size and seconds % size == 0:
                return f"every {seconds / size:g} {unit}"
        return f"every {seconds:g} s"

    def next(self, after: datetime) -> datetime | None:
        """The first tick after this instant; None where there is none any more."""
        if self.start is not None and after < self.start:
            after = self.start - _INSTANT
        try:
            found = self._after(after)
        except (OverflowError, ValueError):  # the calendar ends
            return None
        return None if found is None or (self.end is not None and found > self.end) else found

    def _after(self, after: datetime) -> datetime | None:
        if self.every is not None:
            first = self.start or _EPOCH
            return first + ((after - first) // self.every + 1) * self.every
        assert self.cron is not None
        return _recurring(self.cron, self.zone, after) if self.cron.recurs else self._on_wall(after)

    def _on_wall(self, after: datetime) -> datetime | None:
        assert self.cron is not None
        wall: datetime | None = on_wall(self.zone, after)
        while wall is not None and (wall := self.cron.next(wall)) is not None:
            at = first_instant(self.zone, wall)
            if at > after:  # it is not in an hour that comes for the second time
                return at
        return None

    def upcoming(self, after: datetime) -> Iterator[datetime]:
        """The ticks after this instant, one by one."""
        found = self.next(after)
        while found is not None:
            yield found
            found = self.next(found)

    def latest(self, until: datetime, most: int = 1, since: datetime | None = None) -> list[datetime]:
        """The latest ticks that are not after `until`, at most so many, in order; none before `since`."""
        oldest = until - _FURTHEST_BACK if since is None else since
        back = timedelta(hours=1) if self.every is None else self.every * most
        while True:
            begin = max(oldest, until - back)
            found = []
            for at in self.upcoming(begin - _INSTANT):
                if at > until:
                    break
                found.append(at)
            if len(found) >= most or begin == oldest:
                return found[-most:]
            back *= 2

    def before(self, due: datetime) -> datetime | None:
        """The tick before this one."""
        return next(iter(self.latest(due - _INSTANT)), None)


def timing(
    *,
    cron: str | None = None,
    every: float | timedelta | None = None,
    tz: str = "UTC",
    start: datetime | None = None,
    end: datetime | None = None,
) -> Timing:
    """When a schedule ticks; InvalidOption where that cannot be."""
    if (cron is None) == (every is None):
        raise InvalidOption("give either cron= or every=")
    for name, instant in (("start", start), ("end", end)):
        if instant is not None and (not isinstance(instant, datetime) or instant.tzinfo is None):
            raise InvalidOption(f"{name}= takes a datetime with a time zone")
    if start is not None and end is not None and end < start:
        raise InvalidOption("end= lies before start=")
    made = Timing(
        cron=None if cron is None else Cron(cron),
        every=None if every is None else _interval(every),
        zone=read_zone(tz),
        start=None if start is None else _utc("start", start),
        end=None if end is None else _utc("end", end),
    )
    if end is not None and made.next(made.start - _INSTANT if made.start else _EPOCH) is None:
        raise InvalidOption("it would never run: there is no such time before end=")
    return made


def _interval(every: float | timedelta) -> timedelta:
    seconds = in_seconds("every", every)
    if seconds < LEAST_EVERY:
        raise InvalidOption("every= takes at least 1 second")
    return timedelta(seconds=seconds)


def _utc(name: str, instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidOption(f"{name}= lies beyond the calendar") from None


def _recurring(cron: Cron, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first instant after `after` at which the wall shows what is meant."""
    while True:
        ahead = offset(zone, after)
        wall = cron.next(after.replace(tzinfo=None) + ahead)
        if wall is None:
            return None
        at = (wall - ahead).replace(tzinfo=UTC)
        changed = next_change(zone, after, at)
        if changed is None:
            return at
        if cron.matches(on_wall(zone, changed)):
            return changed
        after = changed


class Verdict(NamedTuple):
    """What becomes of a tick that is due."""

    run: bool
    next_at: datetime | None
    note: str | None = None


def judge(when: Timing, due: datetime, now: datetime, missed: Missed) -> Verdict:
    """Whether a due tick runs, and which is the next; ticks that are not made up are passed in one step."""
    following = when.next(due)
    followed = following is not None and following <= now
    if not followed and now - due <= LATE:
        return Verdict(True, following)
    if missed == "all":
        first = when.latest(now, MOST_MADE_UP, since=due)[:1]
        behind = bool(first) and first[0] > due
        return Verdict(False, first[0], _passed(first[0])) if behind else Verdict(True, following)
    [last] = when.latest(now, since=due) or [due]
    if missed == "once" and last == due:
        return Verdict(True, following, f"late: it was due at {_clock(due)}")
    if missed == "once" or (last > due and now - last <= LATE):
        return Verdict(False, last, _passed(last))
    return Verdict(False, when.next(now), "missed: nobody was there to fire it")


def _passed(until: datetime) -> str:
    return f"missed, like all before that of {_clock(until)}"


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def tick_id(schedule: str, due: datetime) -> str:
    """The id of the job that a tick makes: the same, whoever computes it."""
    digest = int.from_bytes(sha256(f"{schedule}\0{due.astimezone(UTC).isoformat()}".encode()).digest())
    unix_ms = max(0, (due - _EPOCH) // timedelta(milliseconds=1))
    counter = digest & ((1 << COUNTER_BITS) - 1)
    return uuid7(unix_ms, counter, digest >> 64 & ((1 << RANDOM_BITS) - 1))
