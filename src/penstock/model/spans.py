"""Lengths of time and instants, as people say them."""

from __future__ import annotations

from datetime import datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """`0.4 s`, `40 s`, `3 min 20 s`, `2 h 5 min`: two units at most, rounded down."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s".replace(".0 s", " s")
    rest, words = int(seconds), []
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            words.append(f"{count} {unit}")
        elif words:
            break
    return " ".join(words[:2])


def moment(at: datetime, now: datetime) -> str:
    """An instant, and how far it is: `2026-03-01 04:15:00 UTC, in 20 min`."""
    away = (at - now).total_seconds()
    told = f"in {span(away)}" if away > 0 else f"{span(-away)} ago"
    return f"{at:%Y-%m-%d %H:%M:%S} UTC, {told}"
