"""Schedules and their ticks, as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from penstock.model.job import NewJob

Overlap: TypeAlias = Literal["allow", "skip", "queue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRow:
    """A schedule as it is stored."""

    id: str
    spec: str  # JSON text: what it is, which engines do not read
    source: str | None = None  # who declares it; None: put in at run time
    next_at: datetime | None = None  # when the next tick is due; None: there is none
    paused: bool = False
    last_due: datetime | None = None  # of the latest tick
    last_job: str | None = None  # the latest job that a tick has made


class DueSchedules(NamedTuple):
    """Schedules whose next tick is due, and the engine's time, by which their ticks are judged."""

    schedules: list[ScheduleRow]  # the longest due first
    next_in: float | None  # seconds until the next of the others is due; None: none will be
    now: datetime


class Tick(NamedTuple):
    """One tick to be fired."""

    schedule: str
    due: datetime  # the schedule's `next_at`
    next_at: datetime | None  # of the tick after it
    job: NewJob | None  # None: the tick is let pass
    overlap: Overlap = "allow"  # what becomes of the job while the one before is unfinished
    note: str | None = None  # why it is let pass, or what else there is to say; kept with the tick


class TickRecord(NamedTuple):
    """A tick that was fired, or let pass."""

    due: datetime
    fired_at: datetime
    job_id: str | None
    note: str | None


TICKS_KEPT = 100  # of each schedule

STILL_RUNS = "the run before had not ended"  # the note of a tick that is let pass by overlap "skip"

STILL_WAITS = "another run was waiting behind the one before"  # and by "queue"
