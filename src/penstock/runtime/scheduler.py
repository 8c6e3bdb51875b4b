"""Fires the ticks of schedules. Every worker does it: whoever comes first writes the tick, once."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import TICKS_KEPT, Engine, ScheduleRow, Tick, TickRecord
from penstock.model.errors import EngineError, InvalidValue
from penstock.model.job import Edge, Ties
from penstock.model.schedule import Verdict, judge, tick_id
from penstock.runtime.alarm import Alarm
from penstock.runtime.backoff import jittered
from penstock.tasks.registry import Registry
from penstock.tasks.spec import Spec, read_spec
from penstock.telemetry import events

log = logging.getLogger("penstock.scheduler")

STEP = 100  # schedules a round looks at, at most
LOOK_AHEAD = 300.0  # seconds; of schedules put in elsewhere a sweeper tells
RELUCTANT = 5.0  # seconds until one that could not be fired is tried again


class Scheduler:
    """One round fires what is due, one tick of each schedule, and says in how many seconds to come again.

    All time is the engine's: which ticks are due, and how late they are.
    """

    def __init__(self, engine: Engine, registry: Registry) -> None:
        self._engine = engine
        self._registry = registry
        self._told: set[str] = set()  # schedules that cannot be read, and were complained of
        self._firing: set[str] = set()  # schedules whose upstreams are looked at
        self._alarm = Alarm()
        self._not_before = 0.0  # what is due then is known, and cannot be fired

    def due_in(self, seconds: float) -> None:
        """A tick is due then."""
        self._alarm.ring_in(max(seconds, self._not_before - time.monotonic()))

    async def run(self) -> None:
        while True:
            self._alarm.ring_in(await self._round())
            await self._alarm.sleep()

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
        ahead = jittered(RELUCTANT if due.schedules else LOOK_AHEAD)
        self._not_before = time.monotonic() + ahead if due.schedules else 0.0
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
            if tick.job is not None and record.job_id == tick.job.id:
                events.put_in(tick.job, schedule=row.id)
        return True

    async def _tick(self, row: ScheduleRow, due: datetime, now: datetime) -> Tick:
        spec = read_spec(row.spec)
        verdict = judge(spec.timing, due, now, spec.missed)
        closed = self._closed(spec)
        if not verdict.run or closed:
            return Tick(row.id, due, verdict.next_at, None, note=verdict.note if not verdict.run else closed)
        ties = await self._ties(row, spec, verdict, now)
        job = spec.job_at(row.id, due, ties)
        return Tick(row.id, due, verdict.next_at, job, spec.overlap, verdict.note)

    def _closed(self, spec: Spec) -> str | None:
        """Why no job may be made now; None also where another app has to know."""
        task = self._registry.get(spec.job.task)
        return None if task is None else task.refuses()

    # -- after other schedules ------------------------------------------------------------------------
    async def _ties(self, row: ScheduleRow, spec: Spec, verdict: Verdict, now: datetime) -> Ties:
        assert row.next_at is not None
        if not spec.after:
            return spec.ties((), None)
        self._firing.add(row.id)
        try:
            found = [await self._upstream(spec, name, row.next_at, now) for name in spec.after]
        finally:
            self._firing.discard(row.id)
        edges = tuple(edge for edge in found if edge is not None)
        wait = spec.deadline
        if wait is None and verdict.next_at is not None:
            wait = (verdict.next_at - row.next_at).total_seconds()
        late = (now - row.next_at).total_seconds()
        return spec.ties(edges, None if wait is None else max(0.0, wait - late))

    async def _upstream(self, spec: Spec, name: str, due: datetime, now: datetime) -> Edge | None:
        """What the tick's job has to wait for; None where there is nothing."""
        row = await self._caught_up(name, now)
        if row is None:
            return None
        ticks = await self._engine.ticks(row.id, TICKS_KEPT)
        at, job_id = _awaited(spec, row, ticks, due)
        if job_id is not None:
            return await self._standing_in(job_id)
        return None if at is None else Edge(tick_id(row.id, at), "wait")

    async def _caught_up(self, name: str, now: datetime) -> ScheduleRow | None:
        """A schedule, as it stands when its ticks that are due have been fired."""
        while True:
            rows = {row.id: row for row in await self._engine.schedules()}
            row = rows.get(name)
            if row is None or row.next_at is None or row.next_at > now:
                return row
            if name in self._firing or not await self._fire(row, now):
                return row

    async def _standing_in(self, job_id: str) -> Edge | None:
        """The job, or what it was recovered as; None where it has completed and its record is gone."""
        while True:
            job = await self._engine.get(job_id)
            letter = await self._engine.dead_letter(job_id) if job is None else None
            if job is None and letter is None:
                return None
            heir = (job or letter).recovered_as  # type: ignore[union-attr]
            if heir is None:
                return Edge(job_id, "wait", has_come=True)
            job_id = heir


def _awaited(
    spec: Spec, upstream: ScheduleRow, ticks: Sequence[TickRecord], due: datetime
) -> tuple[datetime | None, str | None]:
    """The upstream's tick of the same period and its job: the latest by `due`, after our own tick before.

    Where none has made a job then, as after an outage, the next that did makes up for it. What never comes is
    waited for as well, for the deadline to decide; but not what fell in a time before the upstream was there.
    """
    before = spec.timing.before(due)
    made = [tick for tick in ticks if tick.job_id is not None and (before is None or tick.due > before)]
    in_time = [tick for tick in made if tick.due <= due]
    if in_time:
        return in_time[0].due, in_time[0].job_id
    at = _tick_at(spec, upstream, due)
    if at is None:
        return None, None
    if made:
        return at, made[-1].job_id
    is_past = not upstream.paused and (upstream.next_at is None or upstream.next_at > due)
    was_there = any(tick.due <= at for tick in ticks)
    return (None if is_past and not was_there else at), None


def _tick_at(spec: Spec, upstream: ScheduleRow, due: datetime) -> datetime | None:
    try:
        return spec.upstream_tick(read_spec(upstream.spec), due)
    except InvalidValue:
        return due  # whatever it is, it is not known to have run
