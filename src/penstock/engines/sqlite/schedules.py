"""Schedules and their ticks: when they are due, and what has come. What they are, their owners know."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import (
    STILL_RUNS,
    STILL_WAITS,
    TICKS_KEPT,
    DueSchedules,
    ScheduleRow,
    Tick,
    TickRecord,
)
from penstock.engines.sqlite.enqueue import enqueue, state_of
from penstock.engines.sqlite.instants import SECOND, instant, stored
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.job import Edge, NewJob, Ties
from penstock.model.states import State


def put_schedules(tx: Tx, rows: Sequence[ScheduleRow]) -> None:
    """Add schedules, or change those that are there."""
    tx.change_many(
        "schedules_put",
        [
            {
                "id": row.id,
                "spec": row.spec,
                "source": row.source,
                "next_at": _stored(row.next_at),
                "paused": int(row.paused),
                "now": tx.now,
            }
            for row in rows
        ],
    )


def remove_schedules(tx: Tx, ids: Sequence[str]) -> int:
    """Remove schedules and the records of their ticks."""
    named = (json.dumps(ids),)
    tx.change("ticks_remove", named)
    return tx.change("schedules_remove", named)


def pause_schedule(tx: Tx, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
    """Stop or resume the ticks of a schedule."""
    tx.change(
        "schedules_pause", (int(paused), None if paused else _stored(next_at), schedule_id, int(paused))
    )
    return tx.row("schedule", (schedule_id,)) is not None


def due_schedules(session: Session, limit: int) -> DueSchedules:
    """Schedules whose next tick is due, and when the next of the others is."""
    rows = session.rows("schedules_next", (limit + 1,))
    due = [row for row in rows[:limit] if row["next_at"] <= session.now]
    others = rows[len(due) :]
    next_in = max(0.0, (others[0]["next_at"] - session.now) / SECOND) if others else None
    return DueSchedules([_schedule(row) for row in due], next_in, instant(session.now))


def fire(tx: Tx, tick: Tick) -> TickRecord | None:
    """Write one tick, and the job it makes."""
    row = tx.row("schedule", (tick.schedule,))
    if row is None or row["paused"] or row["next_at"] != stored(tick.due):
        return None
    job, note = _unless_overlapping(tx, tick, row["last_job"])
    is_there = job is not None and state_of(tx, job.id) is not None
    holder = enqueue(tx, [job], again=is_there)[0] if job else None
    made = None if holder is None or holder.duplicate or is_there else holder.id
    job_id = holder and holder.id
    tx.change("schedules_move_on", (_stored(tick.next_at), stored(tick.due), made, tick.schedule))
    tx.change("ticks_add", (tick.schedule, stored(tick.due), tx.now, job_id, note))
    tx.change("ticks_drop", (tick.schedule, TICKS_KEPT))
    return TickRecord(tick.due, instant(tx.now), job_id, note)


def schedules(session: Session) -> list[ScheduleRow]:
    """Every schedule."""
    return [_schedule(row) for row in session.rows("schedules")]


def ticks(session: Session, schedule_id: str, limit: int) -> list[TickRecord]:
    """The latest ticks of a schedule."""
    return [
        TickRecord(instant(row["due"]), instant(row["fired_at"]), row["job_id"], row["note"])
        for row in session.rows("ticks", (schedule_id, limit))
    ]


def _unless_overlapping(tx: Tx, tick: Tick, before: str | None) -> tuple[NewJob | None, str | None]:
    """The job to make and the tick's note; by its rule for a run before that has not ended."""
    if tick.job is None or tick.overlap == "allow" or before is None:
        return tick.job, tick.note
    state = state_of(tx, before)
    if state is None or state.finished:
        return tick.job, tick.note
    if tick.overlap == "skip":
        return None, STILL_RUNS
    if state is State.BLOCKED:
        return None, STILL_WAITS
    ties = tick.job.ties or Ties()
    return tick.job._replace(ties=ties._replace(after=(*ties.after, Edge(before, "ignore")))), tick.note


def _schedule(row: sqlite3.Row) -> ScheduleRow:
    return ScheduleRow(
        id=row["id"],
        spec=row["spec"],
        source=row["source"],
        next_at=instant(row["next_at"]),
        paused=bool(row["paused"]),
        last_due=instant(row["last_due"]),
        last_job=row["last_job"],
    )


def _stored(at: datetime | None) -> int | None:
    return None if at is None else stored(at)
