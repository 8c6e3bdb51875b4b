"""Limits: how many may start in a time, how many may run at once. Arithmetic; engines keep the state.

A rate is kept as one instant, `spent_until`: the time by which everything taken so far will have been earned.
It may run ahead of now by the burst, less one permit: then nothing more is given.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from penstock.model.errors import MAX_SECONDS, InvalidOption

BATCH_SECONDS = 0.05  # who found nothing left waits that long at least, to find a few permits at once
MOST_COUNTED = 1_000_000_000  # jobs, runs, failures: a larger number fits not every engine
_FASTEST, _SLOWEST = 1_000_000, 1 / MAX_SECONDS
_BURST_SECONDS = 0.1  # of the rate may start at once, where nothing else is said
_RATE = re.compile(r"(\d{1,9}) */ *(\d{0,9}) *(ms|s|sec|m|min|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}


class Limit(NamedTuple):
    """What may start and run; None is no bound of that kind."""

    rate: float | None = None  # starts per second
    burst: int = 1  # how many of them may come at once
    concurrency: int | None = None
    said: str = ""  # the rate as it was declared, for people


NO_LIMIT = Limit()


def permits(limit: Limit, spent_until: float, now: float) -> int | None:
    """How many may start now by the rate alone; None: no bound."""
    if limit.rate is None:
        return None
    ahead = max(spent_until - now, 0.0)
    return max(0, math.floor(limit.burst - ahead * limit.rate + 1e-6))


def spend(limit: Limit, spent_until: float, now: float, starts: int) -> float:
    """`spent_until` after so many starts."""
    return spent_until if limit.rate is None else max(spent_until, now) + starts / limit.rate


def opens_in(limit: Limit, spent_until: float, now: float) -> float:
    """Seconds until it is worth asking again: until a few may start at once."""
    if limit.rate is None:
        return 0.0
    some = max(1, min(limit.burst, math.floor(limit.rate * BATCH_SECONDS)))
    return max(0.0, spent_until - now - (limit.burst - some) / limit.rate)


def parse_rate(what: str, text: str) -> Limit:
    """Read `"30/s"`, `"100/m"`, `"1/2s"`: so many starts in such a time."""
    found = _RATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise InvalidOption(
            f'{what} {text!r} cannot be read; write it as "30/s", "100/m", "5000/h" or "1/2s"'
        )
    starts, seconds = int(found[1]), int(found[2] or 1) * _UNITS[found[3]]
    if starts == 0 or seconds == 0:
        raise InvalidOption(f"{what} {text!r} lets nothing start; to stop a queue, pause it")
    rate = starts / seconds
    if not _SLOWEST <= rate <= _FASTEST:
        raise InvalidOption(f"{what} {text!r} is not between one in ten years and a million a second")
    said = "".join(text.split())
    return Limit(rate, burst=max(1, math.floor(rate * _BURST_SECONDS)), said=said)


def client_rate(what: str, text: str) -> Limit:
    """How often a client may ask, where what a minute has, or of a fast rate a second, may come at once."""
    limit = parse_rate(what, text)
    rate = limit.rate or 0.0
    return limit._replace(burst=max(1, round(rate * (1 if rate >= 1 else 60))))


def in_words(limit: Limit) -> str:
    """A limit for people; empty where it bounds nothing."""
    words = []
    if limit.rate is not None:
        at_once = f", {limit.burst} at once" if limit.burst > 1 else ""
        words.append((limit.said or _rate(limit.rate)) + at_once)
    if limit.concurrency is not None:
        words.append(f"{limit.concurrency:,} active")
    return "; ".join(words)


def _rate(rate: float) -> str:
    """So many in such a time, without fractions where that can be."""
    for seconds, unit in ((1, "s"), (60, "min"), (3_600, "h"), (86_400, "day")):
        starts = rate * seconds
        if starts >= 1 - 1e-9 and abs(starts - round(starts)) < 1e-6:
            return f"{round(starts):,}/{unit}"
    return f"1/{1 / rate:g} s"
