"""What is told of runs: in the log, to those who watch, and in counts that the engine keeps."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

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

Unsettled: TypeAlias = tuple[Claim, float, Stop | None]  # when it began, by this process's clock
Now = Callable[[], float]  # seconds since the epoch, as near to the engine's clock as can be


class Account:
    """Touched by the event loop only."""

    def __init__(
        self, engine: Engine, now: Now = time.time, *, counts: bool = True, feed: Publisher | None = None
    ) -> None:
        self._engine = engine
        self._feed = feed or Publisher(engine)
        self._now = now
        self._tally = Tally() if counts else None
        self._meter = run_meter() if counts else None
        self._untold: list[Sample] = []  # what the engine was away for
        self.unsettled: dict[str, Unsettled] = {}  # by token: runs count when their end is accepted
        self.ends = 0  # of jobs, as far as this worker has had a part in them
        self.attentive = True  # somebody is told of what goes well: looked at where every job passes

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

    def look(self) -> None:
        """See whether anybody is told of what goes well."""
        self.attentive = self._feed.on or events.are_told()

    def settled(self, ends: Sequence[Settlement], accepted: Sequence[bool]) -> None:
        """The engine has answered for each end."""
        self.look()
        self.ends += len(ends)
        taken, plain, since = self.unsettled.pop, [], self._since()
        is_quiet = self._meter is None and not self.attentive
        for end, written in zip(ends, accepted, strict=True):
            if (found := taken(end.token, None)) is None:  # it was handed back without having begun
                continue
            claim, started, stop = found
            if is_quiet and written and stop is None and type(end.outcome) is Completed:
                plain.append((claim, started, end.ran_for))
            elif written:
                self._written(found, end, since)
            else:
                self._add(claim, "lost")
        if self._tally is not None:
            self._tally.completed(plain, since)

    def _since(self) -> float:
        """What makes wall-clock time of this process's own."""
        return self._now() - time.monotonic()

    def _written(self, found: Unsettled, end: Settlement, since: float) -> None:
        (claim, started, stop), outcome, ran_for = found, end.outcome, end.ran_for
        started_at = since + started
        if self._tally is not None:
            wait = started_at - claim.due_at.timestamp()
            self._tally.run(claim.queue, claim.task, outcome, wait, ran_for)
            if self._meter is not None:
                self._meter.record(claim.queue, claim.task, outcome, wait, ran_for)
        if stop is Stop.TIMEOUT:
            self._add(claim, "timed_out")
        if self._feed.on and (event := live.ended(claim, outcome, ran_for)) is not None:
            self._feed.tell(event)
        events.ended(claim, outcome, ran_for, started_at + ran_for)
        events.followed(claim, end.then)

    def _add(self, claim: Claim, measure: str) -> None:
        if self._tally is not None:
            self._tally.add(claim.queue, claim.task, measure)

    def committed(self, running: Running) -> None:
        """A run was completed by its handler's own transaction."""
        self.ends += 1
        claim, ran_for = running.claim, time.monotonic() - running.started
        end = Settlement(claim.id, claim.token, COMPLETED, ran_for, then=tuple(running.then or ()))
        self._written((claim, running.started, running.stop), end, self._since())

    async def rescue(self, verb: Callable[[Judge], Awaitable[list[Rescued]]]) -> list[Rescued]:
        """Take jobs back from workers that are gone, and tell of those that had been begun."""
        judged: dict[str, tuple[Held, Outcome]] = {}

        def verdict(held: Held) -> Outcome:
            judged[held.id] = held, judge(held)
            return judged[held.id][1]

        rescued = await verb(verdict)
        self.ends += len(rescued)
        for job in rescued:
            held, outcome = judged[job.id]
            events.ended(held, outcome, None, self._now())
            if self._tally is not None:
                self._tally.taken_back(held.queue, held.task, outcome)
        if rescued and await self._feed.is_heard():
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
        self.ends += len(jobs)
        for job in jobs:
            events.expired(job)
            if self._tally is not None:
                self._tally.expired(job)
            if self._feed.on and (event := live.expired(job)) is not None:
                self._feed.tell(event)

    async def last_words(self) -> None:
        """Tell what is not told yet: nobody comes round to do it."""
        await self.tell()
        await self._feed.last_words()

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
