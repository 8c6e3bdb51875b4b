"""Time as an argument: an engine asks its clock, and only tests answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from penstock.model.errors import InvalidOption


class Clock(Protocol):
    """Says what time it is, or None: then the engine's own clock (the server's, the host's) judges."""

    def now(self) -> datetime | None: ...


class EngineClock:
    """The production clock: every stored instant is judged by the engine itself."""

    def now(self) -> datetime | None:
        return None


class FakeClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 5, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float | timedelta = 0, **more: float) -> datetime:
        """Move on by `seconds` or a timedelta, and any other part of one (`minutes=`, `hours=`, `days=`)."""
        first = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        step = first + timedelta(**more)
        if step < timedelta(0):
            raise InvalidOption("a clock moves on and never back; give seconds, minutes or more from 0 on")
        self._now += step
        return self._now
