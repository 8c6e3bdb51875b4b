"""What is told of runs once their ends are written: in the log, and in counts that the engine keeps."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from penstock.engine import Engine, Judge, Rescued, Sample, Settlement
from penstock.engine.counting import MAX_SAMPLES
from penstock.model.decide import judge
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown
from penstock.model.job import Claim, Held
from penstock.model.outcome import COMPLETED, Outcome
from penstock.runtime.backoff import jittered
from penstock.runtime.running import Running, Stop
from penstock.telemetry import events
from penstock.telemetry.tally import Tally

log = logging.getLogger("penstock.worker")

TELL_EVERY = 10.0  # seconds between two tellings
PATIENCE = 2.0  # seconds that a telling may take

Now = Callable[[], float]  # seconds since the epoch, as near to the engine's clock as can be


class Account:
    """Touched by the event loop only."""

    def __init__(self, engine: Engine, now: Now = time.time, *, counts: bool = True) -> None:
        self._engine = engine
        self._now = now
        self._tally = Tally() if counts else None
        self._untold: list[Sample] = []  # what the engine was away for
        self._ended: dict[str, tuple[Claim, float, bool]] = {}  # by token: not written yet

    # -- what is told to it -------------------------------------------------------------------------
    def ended(self, running: Running) -> None:
        """A run ended; it counts when its end is accepted."""
        self._ended[running.claim.token] = (running.claim, self._now(), running.stop is Stop.TIMEOUT)

    def settled(self, end: Settlement, accepted: bool) -> None:
        """The engine has answered for one end."""
        found = self._ended.pop(end.token, None)
        if found is None:  # it was handed back without having begun
            return
        claim, at, timed_out = found
        if accepted:
            self._ran(claim, end.outcome, end.ran_for, at)
            for job in end.then:
                events.put_in(job, follows=claim.id)
            if not timed_out:
                return
        if self._tally is not None:
            self._tally.add(claim.queue, claim.task, "timed_out" if accepted else "lost")

    def committed(self, running: Running) -> None:
        """A run was completed by its handler's own transaction."""
        self._ran(running.claim, COMPLETED, time.monotonic() - running.started, self._now())
        for job in running.then or ():
            events.put_in(job, follows=running.claim.id)

    def _ran(self, claim: Claim, outcome: Outcome, ran_for: float, at: float) -> None:
        events.ended(claim, outcome, ran_for, at)
        if self._tally is not None:
            wait = at - ran_for - claim.due_at.timestamp()
            self._tally.run(claim.queue, claim.task, outcome, wait, ran_for)

    async def rescue(self, verb: Callable[[Judge], Awaitable[list[Rescued]]]) -> list[Rescued]:
        """Take jobs back from workers that are gone, and tell of those that had been begun."""
        judged: dict[str, tuple[Held, Outcome]] = {}

        def verdict(held: Held) -> Outcome:
            judged[held.id] = held, judge(held)
            return judged[held.id][1]

        rescued = await verb(verdict)
        for job in rescued:
            held, outcome = judged[job.id]
            events.ended(held, outcome, None, self._now())
            if self._tally is not None:
                self._tally.taken_back(held.queue, held.task, outcome)
        return rescued

    # -- telling ------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Tell now and then."""
        while True:
            await asyncio.sleep(jittered(TELL_EVERY))
            await self.tell()

    async def tell(self) -> None:
        """Tell the engine what was counted. Best effort: what may have been added is not added again."""
        if self._tally is None:
            return
        samples, self._untold = self._untold or self._tally.take(MAX_SAMPLES), []
        if not samples:
            return
        try:
            await asyncio.wait_for(self._engine.count(samples), PATIENCE)
        except (EngineError, TimeoutError) as error:
            if isinstance(error, EngineUnavailable) and not isinstance(error, OutcomeUnknown):
                self._untold = samples
            else:
                log.warning("metrics of a few seconds are lost: %s", str(error) or "no answer in time")
