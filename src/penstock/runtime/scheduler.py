"""Fires the ticks of schedules. Every worker does it: whoever comes first writes the tick, once."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from penstock.engine import TICKS_KEPT, Engine, ScheduleRow, Tick
from penstock.model.errors import Disabled, EngineError, InvalidValue
from penstock.model.job import Edge, Ties
from penstock.model.schedule import judge, tick_id
from penstock.runtime.backoff import jittered
from penstock.tasks.registry import Registry
from penstock.tasks.spec import Spec, read_spec

log = logging.getLogger("penstock.scheduler")

STEP = 100  # schedules a round looks at, at most
LOOK_AHEAD = 5.0  # seconds; schedules put in elsewhere may be due sooner than the next we know of


class Scheduler:
    """One round fires what is due, one tick of each schedule, and says in how many seconds to come again.

    All time is the engine's: which ticks are due, and how late they are.
    """

    def __init__(self, engine: Engine, registry: Registry) -> None:
        self._engine = engine
        self._registry = registry
        self._told: set[str] = set()  # schedules that cannot be read, and were complained of

    async def run(self) -> None:
        while True:  # noqa: ASYNC110 - each round says when the next is due
            await asyncio.sleep(await self._round())

    async def catch_up(self) -> None:
        """Fire until nothing is due, or the engine is away."""
        while await self._round() == 0:
            pass

    async def _round(self) -> float:
        try:
            return await self.round()
        except EngineError as error:
            log.warning("schedules put off: %s", error)
            return jittered(1.0)
        except Exception:
            # A schedule that breaks must not take the running jobs with it.
            log.exception("firing schedules failed; trying again later")
            return jittered(30.0)

    async def round(self) -> float:
        """Seconds until the next; 0 where something was fired, for more may be due."""
        due = await self._engine.due_schedules(STEP)
        fired = [row.id for row in due.schedules if await self._fire(row, due.now)]
        if fired:
            return 0.0
        ahead = jittered(LOOK_AHEAD)
        return ahead if not due.next_in else min(due.next_in, ahead)

    async def _fire(self, row: ScheduleRow, now: datetime) -> bool:
        """Whether the schedule has moved on, by us or by another."""
        assert row.next_at is not None
        try:
            tick = await self._tick(row, row.next_at, now)
        except InvalidValue as error:
            if row.id not in self._told:
                self._told.add(row.id)
                log.error("schedule %s is not fired: %s", row.id, error)
            return False
        record = await self._engine.fire(tick)
        if record is not None:
            log.info("schedule %s, tick of %s: %s", row.id, row.next_at, record.job_id or record.note)
        return True

    async def _tick(self, row: ScheduleRow, due: datetime, now: datetime) -> Tick:
        spec = read_spec(row.spec)
        verdict = judge(spec.timing, due, now, spec.missed)
        closed = self._closed(spec)
        if not verdict.run or closed:
            return Tick(row.id, due, verdict.next_at, None, note=verdict.note if not verdict.run else closed)
        ties = await self._ties(spec, due, verdict.next_at, now)
        job = spec.job_at(row.id, due, ties)
        return Tick(row.id, due, verdict.next_at, job, spec.overlap, verdict.note)

    def _closed(self, spec: Spec) -> str | None:
        """Why no job may be made now; None also where another app has to know."""
        task = self._registry.get(spec.job.task)
        try:
            if task is not None:
                task.admit()
        except Disabled as error:
            return str(error)
        return None

    # -- after other schedules ------------------------------------------------------------------------
    async def _ties(self, spec: Spec, due: datetime, following: datetime | None, now: datetime) -> Ties:
        if not spec.after:
            return spec.ties((), None)
        rows = {row.id: row for row in await self._engine.schedules()}
        found = [await self._upstream_job(spec, rows[name], due) for name in spec.after if name in rows]
        edges = tuple(Edge(job, "wait") for job in found if job is not None)
        wait = spec.deadline
        if wait is None and following is not None:
            wait = (following - due).total_seconds()
        return spec.ties(edges, None if wait is None else max(0.0, wait - (now - due).total_seconds()))

    async def _upstream_job(self, spec: Spec, upstream: ScheduleRow, due: datetime) -> str | None:
        """The job of the upstream's tick of the same period; None where there is nothing to wait for."""
        at = spec.upstream_tick(read_spec(upstream.spec), due)
        if at is None:
            return None
        ticks = await self._engine.ticks(upstream.id, TICKS_KEPT)
        job_id = next((tick.job_id for tick in ticks if tick.due == at), None)
        if job_id is None:  # it is to come; or never comes, where that tick was let pass
            return tick_id(upstream.id, at)
        return await self._standing_in(job_id)

    async def _standing_in(self, job_id: str) -> str | None:
        """The job, or what it was recovered as; None where it has completed and its record is gone."""
        while (job := await self._engine.get(job_id)) is not None:
            if job.recovered_as is None:
                return job_id
            job_id = job.recovered_as
        letter = await self._engine.dead_letter(job_id)
        if letter is None:
            return None
        return letter.recovered_as or job_id
