"""Upkeep that every worker does: stage what is due, rescue, expire, prune. No leader is needed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from penstock.audit import KIND as AUDIT
from penstock.engine import Engine, Retention
from penstock.model.errors import EngineError
from penstock.runtime.account import Account
from penstock.runtime.after_work import AfterWork, Chore
from penstock.runtime.announce import declare_again
from penstock.runtime.backoff import jittered
from penstock.runtime.options import WorkerOptions
from penstock.tasks.registry import Registry
from penstock.tasks.spec import retentions, unshelved
from penstock.telemetry import gone

log = logging.getLogger("penstock.sweeper")

STEP = 500  # rows a round touches at most
LOOK_AHEAD = 1.75  # seconds; jobs delayed elsewhere may fall due sooner than the next we know of
SELDOM = 3_600.0  # seconds; what a look has seen is done when it is due

DECLARE_EVERY = 3_600.0  # seconds; far less than what is declared counts for
FORGET_STEP = 5_000  # records of the history, which are narrow
CLEAN_UP = 1_000  # records the daily clean-up removes of one queue, at most

Now = Callable[[], datetime]


class Sweeper:
    """Each chore does one bounded round and says in how many seconds to come again."""

    def __init__(
        self,
        engine: Engine,
        options: WorkerOptions,
        account: Account | None = None,
        now: Now = lambda: datetime.now(UTC),
        registry: Registry | None = None,
        tick_in: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._engine = engine
        self._account = account or Account(engine, counts=False)
        self._registry = registry
        self._now = now
        self._options = options
        self._tick_in = tick_in  # whom to tell when a tick of a schedule is due
        self._sooner = asyncio.Event()
        self._patience = min(10.0, options.lease / 6)  # seconds for which a lost worker may stay unseen
        self._lost = False  # whether one was seen since the last rescue
        self._not_before = 0.0  # when what could not be taken back is tried again
        self._compared: str | None = None  # up to which job the ledger was compared
        often = (self.look, self.stage, self.rescue, self.expire)
        self._tidying = AfterWork(self.tidy, self._account)
        after_work = (
            self._tidying,
            *(AfterWork(chore, self._account) for chore in (self.prune, self.forget)),
        )
        rare = (self.clean_up, self.purge, self.forget_effects, self.forget_audit)
        chores: tuple[Chore, ...] = (*often, *after_work, *rare, self.reconcile)
        self._chores: dict[Chore, float] = dict.fromkeys(chores, time.monotonic())
        self._chores[self.declare] = time.monotonic() + DECLARE_EVERY  # it was announced as the worker began

    def due_in(self, seconds: float) -> None:
        """A job of ours falls due then: stage it on time."""
        self._bring_forward(self.stage, seconds)

    def _bring_forward(self, chore: Chore, seconds: float) -> None:
        at = time.monotonic() + seconds
        if at < self._chores[chore]:
            self._chores[chore] = at
            self._sooner.set()

    async def run(self) -> None:
        while True:
            chore = min(self._chores, key=lambda c: self._chores[c])
            if await self._sooner_than(self._chores[chore]):
                continue
            self._chores[chore] = time.monotonic() + SELDOM  # so that due_in() during the round is not lost
            again = await self._round(chore)
            self._chores[chore] = min(self._chores[chore], time.monotonic() + again)

    async def _sooner_than(self, at: float) -> bool:
        """Sleep until `at`; True when woken earlier because something falls due before it."""
        self._sooner.clear()
        try:
            async with asyncio.timeout(max(0.0, at - time.monotonic())):
                await self._sooner.wait()
        except TimeoutError:
            return False
        return True

    async def _round(self, chore: Chore) -> float:
        try:
            return await chore()
        except EngineError as error:
            log.warning("upkeep put off: %s", error)
            return jittered(1.0)
        except Exception:
            # A chore that breaks must not take the running jobs with it, nor the other chores.
            log.exception("upkeep failed in %s; trying again later", getattr(chore, "__name__", chore))
            return jittered(30.0)

    async def look(self) -> float:
        """One look for all that comes of what others do; what there is to do is done at its time."""
        seen = await self._engine.outlook()
        if seen.due_in is not None:
            self._bring_forward(self.stage, seen.due_in)
        if seen.lost:
            self._lost = True
            self._bring_forward(self.rescue, max(0.0, self._not_before - time.monotonic()))
        if seen.untidy:
            self._tidying.rouse()
            self._bring_forward(self._tidying, 0.0)
        if seen.tick_in is not None:
            self._tick_in(seen.tick_in)
        return jittered(min(LOOK_AHEAD, self._patience), 0.05)  # nothing is asked for more often

    async def stage(self) -> float:
        next_due = await self._engine.stage(STEP)
        return SELDOM if next_due is None else next_due

    async def rescue(self) -> float:
        lost, self._lost = self._lost, False
        rescued = await self._account.rescue(lambda judge: self._engine.rescue(STEP, judge))
        for job in rescued:
            log.warning(
                "rescued job %s (%s) from lost worker %s: %s", job.id, job.task, job.worker, job.state
            )
        for worker in sorted({job.worker for job in rescued}):
            held = [job for job in rescued if job.worker == worker]
            await gone.remember(self._engine, worker, "its heartbeat was not seen any more", held)
        if lost and not rescued:
            self._not_before = time.monotonic() + self._patience
        return 0.0 if len(rescued) >= STEP else SELDOM

    async def expire(self) -> float:
        expired = await self._engine.expire(STEP)
        self._account.expired(expired)
        return 0.0 if len(expired) >= STEP else jittered(30.0)

    async def prune(self) -> float:
        removed = [await self._engine.prune(_all_day(kept), STEP) for kept in await self._retentions()]
        return 0.1 if STEP in removed else jittered(60.0)

    async def clean_up(self) -> float:
        """Once a day for each queue, whichever worker comes first: remove what has grown too old."""
        now = self._now()
        last = datetime.combine(now.date(), self._options.clean_up_at, UTC)
        if last > now:
            last -= timedelta(days=1)
        for kept in await self._retentions():
            aged = replace(kept, keep_completed=None, keep_failed=None)
            await self._engine.prune(aged, CLEAN_UP, run=last.isoformat())
        return (last + timedelta(days=1) - now).total_seconds() + jittered(60.0)

    async def _retentions(self) -> list[Retention]:
        """What the queues keep, and the schedules that keep something else."""
        kept = [*self._options.retentions, *retentions(await self._engine.schedules())]
        return [replace(each, remember=self._options.remembers) for each in kept]

    async def purge(self) -> float:
        return 0.1 if await self._engine.purge(self._options.keep_dead, STEP) >= STEP else jittered(3600.0)

    async def forget(self) -> float:
        keep = self._options.keep_history if self._options.remembers else 0
        gone = await self._engine.forget(keep, self._options.keep_history_for, FORGET_STEP)
        return 1.0 if gone >= FORGET_STEP else jittered(60.0)

    async def forget_effects(self) -> float:
        return 0.1 if await self._engine.forget_effects(STEP) >= STEP else jittered(3600.0)

    async def forget_audit(self) -> float:
        gone = await self._engine.forget_notes(AUDIT, self._options.keep_audit, STEP)
        return 0.1 if gone >= STEP else jittered(3600.0)

    async def reconcile(self) -> float:
        """A step; a ledger with much in it is gone through slowly, unless there is something to repair."""
        done = await self._engine.reconcile(STEP, self._compared)
        if done is None:
            return 3600.0
        self._compared = done.after
        if done.repairs:
            log.warning(
                "reconciled with the ledger: %d dispatched, %d restored, %d ended",
                done.dispatched,
                done.restored,
                done.ended,
            )
            return 0.05
        return jittered(5.0 if done.after is None else 1.0)

    async def declare(self) -> float:
        if self._registry is not None:
            await declare_again(self._engine, self._registry)
        return jittered(DECLARE_EVERY)

    async def tidy(self) -> float:
        await self._engine.tidy(unshelved(await self._engine.schedules()))
        return jittered(30.0)


def _all_day(kept: Retention) -> Retention:
    """What is bounded by count is cleaned by age once a day; what is not has only its age as a bound."""
    by_count = kept.keep_completed is not None and kept.keep_failed is not None
    return replace(kept, max_age=None) if by_count else kept
