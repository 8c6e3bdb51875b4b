"""Schedules, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from penstock.model.states import State


class ScheduleView(BaseModel):
    id: str
    task: str | None  # None: what is stored of it cannot be read
    queue: str | None
    cron: str | None
    every: float | None  # seconds
    tz: str | None
    paused: bool
    synced: bool  # False: it comes with the first worker
    next_at: datetime | None
    last_due: datetime | None
    last_job: str | None
    overlap: str | None
    missed: str | None
    after: list[str]


class Schedules(BaseModel):
    schedules: list[ScheduleView]


class RunView(BaseModel):
    at: datetime
    there: datetime  # in the schedule's zone
    note: str | None


class TickView(BaseModel):
    due: datetime
    fired_at: datetime
    job_id: str | None
    note: str | None
    state: State | None  # of its job; None: there is no record of one


class ScheduleDetail(ScheduleView):
    runs: list[RunView]
    ticks: list[TickView]


class Fired(BaseModel):
    job_id: str
