"""Stored instants are microseconds since the epoch, UTC; whole numbers, though stored as doubles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from penstock.model.clock import Clock

SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@lru_cache(4_096)  # jobs enqueued together share theirs
def instant(stored: float) -> datetime:
    """Read a stored instant."""
    return _EPOCH + timedelta(microseconds=int(stored))


def instant_or_none(stored: float) -> datetime | None:
    """Read an instant where 0 stands for never."""
    return instant(stored) if stored else None


def stored(at: datetime) -> int:
    """Write an instant."""
    return (at - _EPOCH) // _MICROSECOND


def micro(seconds: float) -> int:
    """A duration in microseconds."""
    return round(seconds * SECOND)


def now_by(clock: Clock) -> bytes:
    """The time as scripts take it: empty where the server's own clock judges."""
    at = clock.now()
    return b"" if at is None else number(stored(at))


def number(value: int) -> bytes:
    """A number as scripts take it."""
    return b"%d" % value
