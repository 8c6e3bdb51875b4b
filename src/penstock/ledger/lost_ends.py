"""Runs that are over by their rows, and of which the engine has forgotten the end.

It came back without its last moments, and has them active under a worker that lives on: nobody would rescue
them, who waits for them would wait for ever, and their places under limits would stay taken.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from penstock.engine import Grip, Settlement
from penstock.ledger.books import Books
from penstock.ledger.delegate import Fenced
from penstock.ledger.piecewise import piecewise
from penstock.ledger.reconcile import GRACE
from penstock.ledger.rows import Line, outcome_again, outcome_of

log = logging.getLogger("penstock.ledger")

GIVEN_OUT = 60.0  # seconds in which the row of what was given out surely says so


class LostEnds:
    """Tells the engine, by the rows."""

    def __init__(self, books: Books, engine: Fenced) -> None:
        self._books = books
        self._engine = engine
        self._alive: set[str] | None = None

    async def tell(self, workers: Iterable[str]) -> tuple[int, int]:
        """Of what these hold: how many are to run again, and how many had ended."""
        grips = {grip.job_id: grip for worker in workers for grip in await self._engine.held_by(worker)}
        lines = await self._books.lines(list(grips))
        now = await self._books.database.now()
        over = [line for line in lines.values() if await self._is_over(line, grips[line.id], now)]

        async def settle(some: Sequence[Line]) -> None:
            await self._engine.settle([_end_of(line, grips[line.id], now) for line in some])

        told = await piecewise(over, settle, _leave)
        for line in told:
            how = f"had ended as {line.status}" if line.ended else "is to run again"
            log.warning("reconciled: job %s (%s) %s, which Redis had forgotten", line.id, line.task, how)
        ended = sum(line.ended for line in told)
        return len(told) - ended, ended

    async def _is_over(self, line: Line, grip: Grip, now: datetime) -> bool:
        """Whether this run is. Whoever has just written an end tells it himself."""
        if line.updated_at > now - timedelta(seconds=GRACE):
            return False
        if line.ended:
            return True
        if line.token == grip.token:
            return line.run_over
        if grip.for_seconds < GIVEN_OUT:
            return False
        return line.run_over or line.worker not in await self._living()

    async def _living(self) -> set[str]:
        """Asked only where a later run has begun, which the engine forgot: while it goes on it is the one."""
        if self._alive is None:
            self._alive = {worker.id for worker in await self._engine.workers() if worker.alive}
        return self._alive


def _end_of(line: Line, grip: Grip, now: datetime) -> Settlement:
    outcome = outcome_of(line) if line.ended else outcome_again(line, grip.attempt, now)
    return Settlement(line.id, grip.token, outcome)


async def _leave(line: Line, error: Exception) -> None:
    log.error("Redis cannot be told of the end of job %s (%s): %s", line.id, line.task, error)
