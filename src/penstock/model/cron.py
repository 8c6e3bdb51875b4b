"""Cron expressions over wall-clock times. What a wall clock does in a zone is told by `model/zones.py`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from penstock.model.errors import InvalidOption

MAX_LENGTH = 256
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_DAY = timedelta(days=1)


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: Sequence[str] = ()  # that stand for `least` and what follows it


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)


class Cron:
    """Five fields: minute, hour, day of month, month, day of week, as cron knows them.

    Where neither of the day fields begins with `*`, a day that fits one of them is enough. Where the minute
    or the hour begins with `*`, the expression means something that recurs, and not times of day:
    `recurs` says so.
    """

    def __init__(self, expression: str) -> None:
        """InvalidOption where it cannot be read, or names days that never come."""
        if not isinstance(expression, str) or len(expression) > MAX_LENGTH:
            raise InvalidOption(f"a cron expression is text of at most {MAX_LENGTH} characters")
        self.text = " ".join(expression.split())
        fields = ALIASES.get(self.text.lower(), self.text).upper().split()
        if len(fields) != len(_FIELDS):
            raise _unreadable(self.text, "it takes five fields: minute, hour, day of month, month, weekday")
        minutes, hours, days, months, weekdays = (
            _values(self.text, field, text) for field, text in zip(_FIELDS, fields, strict=True)
        )
        self.recurs = fields[0].startswith("*") or fields[1].startswith("*")
        self._either_day = not (fields[2].startswith("*") or fields[4].startswith("*"))
        self._times = tuple(hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes))
        self._days = frozenset(days)
        self._months = frozenset(months)
        self._weekdays = frozenset(day % 7 for day in weekdays)
        if not self._either_day and min(days) > max(_LONGEST_MONTH[month - 1] for month in months):
            raise _unreadable(self.text, f"no such month has {min(days)} days: it would never run")

    def matches(self, wall: datetime) -> bool:
        """Whether this very minute on the wall is meant."""
        exact = not (wall.second or wall.microsecond)
        return exact and wall.hour * 60 + wall.minute in self._times and self._is_day(wall.date())

    def next(self, wall: datetime) -> datetime | None:
        """The first minute after `wall` that is meant; None where the calendar ends before it."""
        today = wall.date()
        if self._is_day(today):
            at = bisect_right(self._times, wall.hour * 60 + wall.minute)
            if at < len(self._times):
                return _at(today, self._times[at])
        day = self._next_day(today)
        return None if day is None else _at(day, self._times[0])

    def _next_day(self, day: date) -> date | None:
        try:
            day += _DAY
            while not self._is_day(day):
                day = day + _DAY if day.month in self._months else _next_month(day)
        except OverflowError:
            return None
        return day

    def _is_day(self, day: date) -> bool:
        if day.month not in self._months:
            return False
        by_date, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        return by_date or by_weekday if self._either_day else by_date and by_weekday


def _at(day: date, minutes: int) -> datetime:
    return datetime(day.year, day.month, day.day, *divmod(minutes, 60))  # noqa: DTZ001 - a wall has no zone


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _values(expression: str, field: _Field, text: str) -> set[int]:
    return {value for part in text.split(",") for value in _part(expression, field, part)}


def _part(expression: str, field: _Field, part: str) -> Iterator[int]:
    span, stepped, step = part.partition("/")
    first, ranged, last = span.partition("-")
    every = _number(expression, field, step, 1, field.most + 1) if stepped else 1
    if span == "*":
        start, end = field.least, field.most
    else:
        start = _number(expression, field, first)
        end = _number(expression, field, last) if ranged else (field.most if stepped else start)
    if end < start:
        raise _unreadable(expression, f"the {field.name} range {span} runs backwards")
    yield from range(start, end + 1, every)


def _number(
    expression: str, field: _Field, text: str, least: int | None = None, most: int | None = None
) -> int:
    if least is None and text in field.names:
        return field.least + field.names.index(text)
    low, high = field.least if least is None else least, field.most if most is None else most
    if not (text.isascii() and text.isdecimal() and len(text) <= 4 and low <= int(text) <= high):
        names = f" or {field.names[0]} to {field.names[-1]}" if field.names and least is None else ""
        what = f"the {field.name}" if least is None else f"a step of the {field.name}"
        raise _unreadable(expression, f"{what} is {low} to {high}{names}, not {text!r}")
    return int(text)


def _unreadable(expression: str, why: str) -> InvalidOption:
    return InvalidOption(f"cron expression {expression!r} cannot be used: {why}")
