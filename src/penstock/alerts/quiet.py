"""Quiet hours: when only what is bad enough may ring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo

from penstock.alerts.rules import Severity


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of the day to another, over midnight where the first is the later. Ends at `until`."""

    since: time
    until: time
    zone: tzinfo = UTC
    below: Severity = Severity.CRITICAL  # what is held back; this severity rings

    def hold(self, severity: Severity, now: datetime) -> bool:
        """Whether an alert of this severity waits for the morning."""
        if severity.weight >= self.below.weight:
            return False
        at = now.astimezone(self.zone).time()
        if self.since <= self.until:
            return self.since <= at < self.until
        return at >= self.since or at < self.until
