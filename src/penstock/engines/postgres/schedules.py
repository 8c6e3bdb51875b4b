"""Schedules are rows, and a tick is written together with its job, once, whoever fires it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.engine import (
    STILL_RUNS,
    STILL_WAITS,
    TICKS_KEPT,
    DueSchedules,
    Overlap,
    ScheduleRow,
    Tick,
    TickRecord,
)
from penstock.engines.postgres import enqueue
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call, Connection, query
from penstock.model.job import Edge, NewJob, Ties
from penstock.model.states import State


class Schedules(Base):
    """The verbs for schedules and their ticks."""

    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        rows = list({row.id: row for row in schedules}.values())
        await self._do(
            "put_schedules",
            ids=[row.id for row in rows],
            specs=[row.spec for row in rows],
            sources=[row.source for row in rows],
            next_at=[row.next_at and row.next_at.isoformat() for row in rows],
            paused=[row.paused for row in rows],
        )

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        return await self._count("remove_schedules", ids=list(ids))

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        return bool(await self._do("pause_schedule", id=schedule_id, paused=paused, next_at=next_at))

    async def schedules(self) -> list[ScheduleRow]:
        return [schedule_row(*row) for row in await self._do("schedules")]

    async def due_schedules(self, limit: int) -> DueSchedules:
        values = {"now": self._clock.now(), "limit": limit}
        calls = (Call(self._sql[name], values) for name in ("due_schedules", "next_schedule"))
        due, ((now, more, seconds),) = await self._database.run(*calls, repeatable=True)
        return DueSchedules([schedule_row(*row) for row in due], 0.0 if more else seconds, _utc(now))

    async def ticks(self, schedule_id: str, limit: int) -> list[TickRecord]:
        found = await self._do("ticks", schedule=schedule_id, limit=limit)
        return [TickRecord(_utc(due), _utc(fired), job, note) for due, fired, job, note in found]

    async def fire(self, tick: Tick) -> TickRecord | None:
        return await self._database.transact(lambda c: self._fire(c, tick), repeatable=True)

    async def _fire(self, connection: Connection, tick: Tick) -> TickRecord | None:
        values: dict[str, Any] = {"now": self._clock.now(), "schedule": tick.schedule, "due": tick.due}
        held = await query(connection, Call(self._sql["hold_tick"], values))
        if not held:
            return None
        [(last, state, fired_at)] = held
        job, note = _overlapping(tick.job, tick.overlap, last, state)
        name, made = await self._put(connection, job) if job else (None, False)
        values |= {"next_at": tick.next_at, "fired_at": fired_at, "job_id": name, "kept": TICKS_KEPT}
        values |= {"made": name if made else None, "note": note or tick.note}
        await query(connection, Call(self._sql["write_tick"], values))
        return TickRecord(tick.due, fired_at.astimezone(UTC), name, note or tick.note)

    async def _put(self, connection: Connection, job: NewJob) -> tuple[str, bool]:
        """The job of a tick by its id, and whether it is new."""
        known = await query(connection, Call(self._sql["states"], {"ids": [job.id]}))
        plan = enqueue.plan(self.schema, [job], again=True, now=self._clock.now())
        [answer] = plan.decode(await query(connection, Call(plan.sql, plan.values)))
        return answer.id, not (known or answer.duplicate)


def _overlapping(
    job: NewJob | None, overlap: Overlap, last: str | None, state: str | None
) -> tuple[NewJob | None, str | None]:
    """What becomes of a tick's job while the one before, `last`, is in this unfinished state, if it is."""
    if job is None or last is None or state is None or overlap == "allow":
        return job, None
    if overlap == "skip":
        return None, STILL_RUNS
    if state == State.BLOCKED:
        return None, STILL_WAITS
    ties = job.ties or Ties()
    return job._replace(ties=ties._replace(after=(*ties.after, Edge(last, "ignore")))), None


def schedule_row(
    schedule_id: str,
    spec: str,
    source: str | None,
    next_at: datetime | None,
    paused: bool,
    last_due: datetime | None,
    last_job: str | None,
) -> ScheduleRow:
    """A schedule from its row."""
    return ScheduleRow(
        id=schedule_id,
        spec=spec,
        source=source,
        next_at=next_at and _utc(next_at),
        paused=paused,
        last_due=last_due and _utc(last_due),
        last_job=last_job,
    )


def _utc(instant: datetime) -> datetime:
    """Read without a zone: at the ends of the calendar the session's own would not do."""
    return instant.replace(tzinfo=UTC)
