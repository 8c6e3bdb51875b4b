"""Job ids: UUID version 7, made by the client, in the order in which one process made them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

COUNTER_BITS = 30
_LOW_BITS = 18  # of the counter, behind the mark of the variant
RANDOM_BITS = 44
RANDOM_DIGITS = RANDOM_BITS // 4
SKEW = timedelta(minutes=1)  # between an id's time and its job's creation: two clocks, or a transaction


def uuid7(unix_ms: int, counter: int, random: int) -> str:
    """Lay out a version-7 UUID: 48 bits of time, 30 of counter, 44 of randomness."""
    return f"{stem(unix_ms, counter)}{counter % 16:x}{random:0{RANDOM_DIGITS}x}"


def stem(unix_ms: int, counter: int) -> str:
    """How sixteen ids in a row begin: their time, and all of the counter but its last digit."""
    time = f"{unix_ms & (2**48 - 1):012x}"
    high, low = divmod(counter, 1 << _LOW_BITS)
    return f"{time[:8]}-{time[8:]}-7{high:03x}-{(2 << _LOW_BITS | low) // 16:x}-"


def is_id(text: str) -> bool:
    """Whether `text` is written as a job id."""
    return _UUID.fullmatch(text) is not None


def id_range(since: datetime | None, until: datetime | None) -> tuple[str | None, str | None]:
    """Where the ids of jobs created in this time lie: from the first, and before the second."""
    first = None if since is None else _first_id(since - SKEW)
    beyond = None if until is None else _first_id(until + SKEW)
    return first, beyond


def _first_id(at: datetime) -> str:
    text = f"{max(0, int(at.timestamp() * 1000)):012x}"
    return f"{text[:8]}-{text[8:]}-0000-0000-000000000000"
