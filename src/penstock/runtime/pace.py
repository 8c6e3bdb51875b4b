"""How fast jobs end here while there are any, and so how many should lie ready."""

from __future__ import annotations

MAX_PREFETCH = 1_000  # a worker on PostgreSQL takes 59 MB with it
PREFETCH_SECONDS = 0.010  # how much work may lie ready when an answer comes; what runs meanwhile is besides
LONG_EXCHANGE = 0.030  # seconds; a slow engine is no reason to hoard
WINDOW = 0.020  # seconds over which jobs are counted
SHORTEST = 0.001  # seconds; what is quicker cannot be told apart


class Pace:
    """Told of each end and of each answer of the engine. Times are of one clock, in seconds.

    The time in which nothing was left to run counts for nothing: there the engine was waited for, and with
    more lying ready it would not have been.
    """

    def __init__(self, slots: int, now: float) -> None:
        self._slots = slots
        self._rate = 0.0  # jobs per second of work, smoothed
        self._took = 0.0  # seconds an exchange takes, smoothed
        self._count = 0
        self._since = now
        self._last = now  # when a job ended
        self._idle = 0.0  # seconds since then in which nothing ran

    def ended(self, now: float) -> None:
        """A job has ended."""
        self._count += 1
        self._last = now

    def answered(self, now: float, took: float, *, idle: bool) -> None:
        """An exchange has taken so long; `idle`: nothing ran or lay ready any more when it came back."""
        self._took = 0.7 * self._took + 0.3 * min(took, LONG_EXCHANGE)
        if idle:
            self._idle += now - max(self._last, self._since)
        length = now - self._since
        if length >= WINDOW or (self._rate == 0 and self._count >= self._slots):
            self._measure(max(SHORTEST, length - self._idle))
            self._count, self._since, self._idle = 0, now, 0.0

    def _measure(self, worked: float) -> None:
        rate = self._count / worked
        self._rate = rate if self._rate == 0 else 0.7 * self._rate + 0.3 * rate

    def forget(self) -> None:
        """What lay ready was not begun: jobs take longer than they did."""
        self._rate = 0.0

    @property
    def ahead(self) -> int:
        """How many to claim beyond the slots."""
        return min(MAX_PREFETCH, int(self._rate * (PREFETCH_SECONDS + self._took)))
