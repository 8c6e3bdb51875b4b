"""What the log says of a relay: each outage once, and now and then how far it has come."""

from __future__ import annotations

import logging
import time

from penstock.outbox.store import Other, Verdict

log = logging.getLogger("penstock.relay")

TELL_EVERY = 10.0  # seconds between lines of progress


class Outage:
    """One line when it begins, one when it is over."""

    def __init__(self, of: str) -> None:
        self._of = of
        self._since: float | None = None

    def begin(self, error: Exception) -> None:
        if self._since is None:
            self._since = time.monotonic()
            log.warning("%s is away, what is in the outbox waits: %s", self._of, error)

    def end(self) -> None:
        if self._since is not None:
            log.warning("%s is back after %.0f s", self._of, time.monotonic() - self._since)
            self._since = None


class Progress:
    """Counts, and tells of them."""

    def __init__(self) -> None:
        self.dispatched = 0  # rows
        self.refused = 0  # tries
        self._told = 0
        self._told_at = 0.0

    def add(self, verdict: Verdict) -> None:
        self.dispatched += len(verdict.dispatched)
        self.refused += len(verdict.refused)
        for refusal in verdict.refused:
            log.warning(
                "outbox row %d is refused, tried again in %.0f s: %s",
                refusal.seq,
                refusal.retry_in,
                refusal.error,
            )
        if self.dispatched > self._told and time.monotonic() - self._told_at >= TELL_EVERY:
            self._told, self._told_at = self.dispatched, time.monotonic()
            log.info("%s outbox rows dispatched so far", f"{self.dispatched:,}")


def about_other(other: Other) -> str:
    """Rows that none of this app's relays will bring."""
    return (
        f"{other.waiting:,} rows wait for {other.destination!r}, the oldest for {other.lag:.0f} s, which is "
        "another app, or another URL of the engine: does a relay of it run? Where they are this app's, give "
        "all its processes one PENSTOCK_OUTBOX_NAME"
    )
