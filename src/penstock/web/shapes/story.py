"""What operators see of one job, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel


class CauseView(BaseModel):
    because: str
    text: str
    next: str | None
    until: datetime | None
    jobs: list[str]


class ExplanationView(BaseModel):
    """Why a job does not run, or how it ended; the first cause is the decisive one."""

    job_id: str
    task: str
    queue: str
    state: str
    at: datetime
    causes: list[CauseView]


class EffectView(BaseModel):
    """Something that was done once for the key of a job: `ctx.once`."""

    name: str
    job_id: str  # of the job that did it
    first_at: datetime
    expires_at: datetime


class LogLineView(BaseModel):
    at: datetime
    level: str
    text: str


class LoggedView(BaseModel):
    """What one attempt has logged by `ctx.log`: its latest lines."""

    attempt: int
    lines: list[LogLineView]


class StoryView(BaseModel):
    errors: list[dict[str, Any]]
    steps: dict[str, Any]
    effects: list[EffectView]
    logs: list[LoggedView]
    worker: str | None
    origin: str | None
    note: str | None
    flow: str | None
    after: list[str]
    blocked_by: list[str]
    recovered_from: str | None
    recovered_as: str | None
    claimed_at: datetime | None  # the latest start
    expires_at: datetime | None
    deadline_at: datetime | None  # until when it may wait for others
    priority: str
    dead_letter: bool  # it has one that can be recovered, or was
    ran_for: float
    rescues: int
