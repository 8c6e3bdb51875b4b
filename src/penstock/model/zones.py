"""Zones: what the clock on the wall shows, and when it is put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.model.errors import InvalidOption

_LOOK_EVERY = timedelta(hours=6)  # no zone changes its clocks twice within this
_SECOND = timedelta(seconds=1)


def read_zone(name: str) -> ZoneInfo:
    """The zone of this IANA name; InvalidOption where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise InvalidOption(
            f"there is no time zone {name!r}; give an IANA name such as 'UTC' or 'America/Sao_Paulo'"
        ) from None


def offset(zone: ZoneInfo, at: datetime) -> timedelta:
    """How far the wall is ahead of UTC at this instant."""
    found = at.astimezone(zone).utcoffset()
    assert found is not None
    return found


def on_wall(zone: ZoneInfo, at: datetime) -> datetime:
    """What the wall shows at this instant, as a time without a zone."""
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def first_instant(zone: ZoneInfo, wall: datetime) -> datetime:
    """When the wall first shows this; where it never does, the first instant after the gap."""
    at = wall.replace(tzinfo=zone).astimezone(UTC)
    if on_wall(zone, at) == wall:
        return at
    before_gap = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    changed = next_change(zone, before_gap, at)
    assert changed is not None
    return changed


def next_change(zone: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """The first instant after `after`, and not after `until`, from which on the offset is another."""
    before = offset(zone, after)
    low = after
    while low < until:
        high = min(low + _LOOK_EVERY, until)
        if offset(zone, high) != before:
            return _change_between(zone, low, high, before)
        low = high
    return None


def _change_between(zone: ZoneInfo, low: datetime, high: datetime, before: timedelta) -> datetime:
    low, high = low.replace(microsecond=0), high.replace(microsecond=0) + _SECOND
    while high - low > _SECOND:
        middle = low + ((high - low) // 2 // _SECOND) * _SECOND
        if offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high
