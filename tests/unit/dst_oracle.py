"""An independent oracle for schedules over clock changes: a walk minute by minute, looking at the wall.

`make dst` compares all of 2015 to 2035, and the tests some days around changes. On days without a change the
walk is cut short: there the minutes of the day that are meant come once each, in order.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from penstock.model.schedule import timing

ZONES = (
    "America/Sao_Paulo", "America/New_York", "America/St_Johns", "America/Santiago", "America/Asuncion",
    "America/Havana", "America/Caracas", "America/Punta_Arenas", "Europe/Berlin", "Europe/London",
    "Europe/Dublin", "Europe/Istanbul", "Europe/Volgograd", "Africa/Casablanca", "Africa/Cairo",
    "Asia/Beirut", "Asia/Gaza", "Asia/Tehran", "Asia/Amman", "Asia/Pyongyang", "Asia/Kathmandu",
    "Asia/Tokyo", "Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham",
    "Pacific/Norfolk", "Pacific/Fiji", "Antarctica/Troll", "UTC",
)  # fmt: skip
EXPRESSIONS = (
    "0 0 * * *", "30 0 * * *", "15 1 * * *", "30 2 * * *", "0 3 * * *", "45 23 * * *",
    "0,15,30,45 0-3 * * *", "0 2 * * 0", "30 1 1-7 * *", "0 12 29 2 *", "0 0 1 */3 1",
    "0 * * * *", "30 * * * *", "*/7 * * * *", "*/20 2 * * *", "0 */2 * * *", "* 1 * * 0", "15 0-23/6 * * *",
)  # fmt: skip
FIRST, LAST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


class Minute(NamedTuple):
    """One minute of the walk."""

    at: datetime
    wall: datetime
    skipped: tuple[datetime, ...]  # what the wall would have shown just before, had it not been put forward
    again: bool  # the wall has shown this before


def walk(zone: ZoneInfo, begin: datetime, end: datetime) -> list[Minute]:
    """Every minute from `begin` on, before `end`."""
    seen = {wall_at(zone, begin - n * MINUTE) for n in range(1, 24 * 60)}
    minutes, at, before = [], begin, wall_at(zone, begin - MINUTE)
    while at < end:
        wall = wall_at(zone, at)
        gap = int((wall - before) / MINUTE) - 1
        minutes.append(Minute(at, wall, tuple(before + n * MINUTE for n in range(1, gap + 1)), wall in seen))
        seen.add(wall)
        at, before = at + MINUTE, wall
    return minutes


def wall_at(zone: ZoneInfo, at: datetime) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


class Oracle:
    """One expression, read by trial: a value fits a field if any of its parts names it."""

    def __init__(self, expression: str) -> None:
        fields = expression.split()
        self.recurs = "*" in (fields[0][0], fields[1][0])
        self.either = fields[2][0] != "*" and fields[4][0] != "*"
        self.minute, self.hour, self.day, self.month, self.weekday = (
            {v for v in range(low, high + 1) if fits(field, v, low, high)}
            for field, (low, high) in zip(fields, BOUNDS, strict=True)
        )
        self.of_day = [n for n in range(24 * 60) if n % 60 in self.minute and n // 60 in self.hour]

    def meant(self, wall: datetime) -> bool:
        return wall.minute in self.minute and wall.hour in self.hour and self.meant_day(wall)

    def meant_day(self, wall: datetime) -> bool:
        days = wall.day in self.day, bool({(wall.weekday() + 1) % 7, wall.weekday() + 1} & self.weekday)
        return wall.month in self.month and (any(days) if self.either else all(days))

    def runs(self, minute: Minute) -> bool:
        if self.recurs:
            return self.meant(minute.wall)
        made_up = any(self.meant(wall) for wall in minute.skipped)
        return made_up or (self.meant(minute.wall) and not minute.again)

    def plain_day(self, zone: ZoneInfo, begin: datetime) -> Iterator[datetime]:
        """The ticks of 24 hours in which nothing changes."""
        ahead = begin.astimezone(zone).utcoffset()
        assert ahead is not None
        midnight = wall_at(zone, begin).replace(hour=0, minute=0)
        for day in (midnight, midnight + DAY):
            for n in self.of_day if self.meant_day(day) else ():
                at = (day + n * MINUTE - ahead).replace(tzinfo=UTC)
                if begin <= at < begin + DAY:
                    yield at


def fits(field: str, value: int, low: int, high: int) -> bool:
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start = low if span == "*" else int(first)
        stop = high if span == "*" or (step and not last) else int(last or first)
        if start <= value <= stop and (value - start) % int(step or 1) == 0:
            return True
    return False


def changed_days(zone: ZoneInfo) -> list[datetime]:
    """The UTC days of 2015 to 2035 in which the zone's clocks are changed."""
    days = [FIRST + n * DAY for n in range((LAST - FIRST).days)]
    return [
        day for day in days if day.astimezone(zone).utcoffset() != (day + DAY).astimezone(zone).utcoffset()
    ]


def computed(expression: str, zone: ZoneInfo, begin: datetime, end: datetime) -> list[datetime]:
    found = []
    for at in timing(cron=expression, tz=zone.key).upcoming(begin - timedelta(microseconds=1)):
        if at >= end:
            break
        found.append(at)
    return found


def compare(what: str, wanted: Sequence[datetime], found: Sequence[datetime]) -> list[str]:
    """Ticks that only one of the two knows."""
    if list(found) == list(wanted):
        return []
    only = sorted(set(found) ^ set(wanted))[:3]
    return [f"{what}: {[f'{at:%Y-%m-%d %H:%M}' for at in only]}"]


def around(zone: ZoneInfo, day: datetime) -> list[str]:
    """What differs on the days around a change, over all expressions."""
    begin, end = day - DAY, day + 2 * DAY
    minutes = walk(zone, begin, end)
    return [
        line
        for expression in EXPRESSIONS
        for line in compare(
            f"{expression} in {zone.key}",
            [m.at for m in minutes if ORACLES[expression].runs(m)],
            computed(expression, zone, begin, end),
        )
    ]


def all_of(zone: ZoneInfo) -> list[str]:
    """What differs in all the years."""
    by_minute = {day + n * DAY for day in changed_days(zone) for n in (-1, 0, 1)}
    walked = {day: walk(zone, day, day + DAY) for day in by_minute}
    wrong = []
    for expression in EXPRESSIONS:
        oracle, wanted, day = ORACLES[expression], [], FIRST
        while day < LAST:
            if day in walked:
                wanted += [minute.at for minute in walked[day] if oracle.runs(minute)]
            else:
                wanted += oracle.plain_day(zone, day)
            day += DAY
        wrong += compare(f"{expression} in {zone.key}", wanted, computed(expression, zone, FIRST, LAST))
    return wrong


ORACLES = {expression: Oracle(expression) for expression in EXPRESSIONS}


def main() -> None:
    began, wrong = time.monotonic(), []
    for name in ZONES:
        wrong += all_of(ZoneInfo(name))
        print(f"{name:<24}{len(wrong)} differences, {time.monotonic() - began:,.0f} s", flush=True)
    print(f"{len(ZONES)} zones, {len(EXPRESSIONS)} expressions, 2015 to 2035: {len(wrong)} differences")
    for line in wrong[:20]:
        print(line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
