"""What is told of runs: in the log, to those who watch, and in counts that the engine keeps."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from penstock.engine import Engine, Expired, Judge, Rescued, Sample, Settlement
from penstock.engine.counting import MAX_SAMPLES
from penstock.feed import events as live
from penstock.feed.publisher import Publisher
from penstock.model.decide import judge
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown
from penstock.model.job import Claim, Held
from penstock.model.outcome import COMPLETED, Completed, Outcome
from penstock.runtime.backoff import jittered
from penstock.runtime.running import Running, Stop
from penstock.telemetry import events
from penstock.telemetry.meter import run_meter
from penstock.telemetry.tally import Tally

log = logging.getLogger("penstock.worker")

TELL_EVERY = 10.0  # seconds between two tellings
PATIENCE = 2.0  # seconds that a telling may take

Now = Callable[[], float]  # seconds since the epoch, as near to the engine's clock as can be


class Account:
    """Touched by the event loop only."""

    def __init__(
        self, engine: Engine, now: Now = time.time, *, counts: bool = True, feed: Publisher | None = None
    ) -> None:
        self._engine = engine
        self._feed = feed or Publisher(engine)  # one that is not on tells nobody
        self._now = now
        self._tally = Tally() if counts else None
        self._meter = run_meter() if counts else None
        self._untold: list[Sample] = []  # what the engine was away for
        self._ended: dict[str, tuple[Claim, float, Stop | None]] = {}  # by token: not written yet

    # -- what is told to it -------------------------------------------------------------------------
    def started(self, claim: Claim) -> None:
        """A handler begins."""
        events.started(claim)
        if self._feed.on:
            self._feed.tell(live.started(claim))

    def progressed(self, claim: Claim, progress: str) -> None:
        """A handler told how far it is, and that is stored."""
        events.progress(claim, progress)
        if self._feed.on:
            self._feed.tell(live.progress(claim, progress))

    def ended(self, running: Running) -> None:
        """A run ended; it counts when its end is accepted."""
        claim = running.claim
        self._ended[claim.token] = (claim, self._now(), running.stop)

    def settled(self, ends: Sequence[Settlement], accepted: Sequence[bool]) -> None:
        """The engine has answered for each end."""
        taken, tally, meter = self._ended.pop, self._tally, self._meter
        told, watched = events.are_told(), self._feed.on
        for (_, token, outcome, ran_for, _, then, _), written in zip(ends, accepted, strict=True):
            if (found := taken(token, None)) is None:  # it was handed back without having begun
                continue
            claim, at, stop = found
            if written and tally is not None:
                wait = at - ran_for - claim.due_at.timestamp()
                tally.run(claim.queue, claim.task, outcome, wait, ran_for)
                if meter is not None:
                    meter.record(claim.queue, claim.task, outcome, wait, ran_for)
            if stop is not None or not written:
                self._ended_badly(claim, stop, written=written)
            if written and watched and (event := live.ended(claim, outcome, ran_for)) is not None:
                self._feed.tell(event)
            if written and (told or type(outcome) is not Completed):
                events.ended(claim, outcome, ran_for, at)
                events.followed(claim, then)

    def _ended_badly(self, claim: Claim, stop: Stop | None, *, written: bool) -> None:
        if self._tally is not None and not (written and stop is not Stop.TIMEOUT):
            self._tally.add(claim.queue, claim.task, "timed_out" if written else "lost")

    def committed(self, running: Running) -> None:
        """A run was completed by its handler's own transaction."""
        claim, at, ran_for = running.claim, self._now(), time.monotonic() - running.started
        if self._tally is not None:
            wait = at - ran_for - claim.due_at.timestamp()
            self._tally.run(claim.queue, claim.task, COMPLETED, wait, ran_for)
            if self._meter is not None:
                self._meter.record(claim.queue, claim.task, COMPLETED, wait, ran_for)
        if self._feed.on and (event := live.ended(claim, COMPLETED, ran_for)) is not None:
            self._feed.tell(event)
        events.ended(claim, COMPLETED, ran_for, at)
        events.followed(claim, running.then or ())

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
        if self._feed.on:
            await self._tell_of_rescue([judged[job.id] for job in rescued])
        return rescued

    async def _tell_of_rescue(self, judged: Sequence[tuple[Held, Outcome]]) -> None:
        """Whose a job is, the engine does not say with those that it takes back."""
        with suppress(EngineError):
            for held, outcome in judged:
                job = await self._engine.get(held.id)
                owner = None if job is None else job.owner
                if (event := live.taken_back(held, outcome, owner)) is not None:
                    self._feed.tell(event)

    def expired(self, jobs: Sequence[Expired]) -> None:
        """Their time has passed before they began."""
        for job in jobs:
            events.expired(job)
            if self._tally is not None:
                self._tally.expired(job)
            if self._feed.on and (event := live.expired(job)) is not None:
                self._feed.tell(event)

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
            async with asyncio.timeout(PATIENCE):
                await self._engine.count(samples)
        except (EngineError, TimeoutError) as error:
            if isinstance(error, EngineUnavailable) and not isinstance(error, OutcomeUnknown):
                self._untold = samples
            else:
                log.warning("metrics of a few seconds are lost: %s", str(error) or "no answer in time")
