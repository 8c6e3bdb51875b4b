"""What is told of runs once their ends are written."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.engine import Settlement
from penstock.model.job import Claim
from penstock.model.outcome import COMPLETED
from penstock.runtime.running import Running
from penstock.telemetry import events


class Account:
    """Touched by the event loop only."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ended: dict[str, tuple[Claim, float]] = {}  # by token: not written yet

    def ended(self, running: Running) -> None:
        """A run ended; it is told of when its end is accepted."""
        self._ended[running.claim.token] = (running.claim, self._now())

    def settled(self, end: Settlement, accepted: bool) -> None:
        """The engine has answered for one end."""
        found = self._ended.pop(end.token, None)
        if found is None or not accepted:  # it was handed back without having begun, or has passed on
            return
        claim, at = found
        events.ended(claim, end.outcome, end.ran_for, at)
        for job in end.then:
            events.put_in(job, follows=claim.id)

    def committed(self, running: Running) -> None:
        """A run was completed by its handler's own transaction."""
        events.ended(running.claim, COMPLETED, time.monotonic() - running.started, self._now())
        for job in running.then or ():
            events.put_in(job, follows=running.claim.id)
