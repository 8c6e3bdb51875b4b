"""Stored instants are whole microseconds since the epoch, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import overload

from penstock.model.clock import Clock
from penstock.model.priority import HEAD_START

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000

HEAD_START_US: dict[int, int] = {int(p): seconds * SECOND for p, seconds in HEAD_START.items()}


@overload
def instant(stored: int) -> datetime: ...
@overload
def instant(stored: None) -> None: ...
def instant(stored: int | None) -> datetime | None:
    """Read a stored instant."""
    return None if stored is None else _instant(stored)


@lru_cache(4_096)  # jobs enqueued together share theirs
def _instant(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


def stored(at: datetime) -> int:
    """Write an instant."""
    return (at - _EPOCH) // _MICROSECOND


def micro(seconds: float) -> int:
    """A duration in microseconds."""
    return round(seconds * SECOND)


def now_by(clock: Clock) -> int:
    """The time by the injected clock, else by the host's."""
    at = clock.now()
    return time.time_ns() // 1_000 if at is None else stored(at)
