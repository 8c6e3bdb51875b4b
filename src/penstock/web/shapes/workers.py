"""Worker processes, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from penstock.engine import Order
from penstock.model.states import State
from penstock.web.shapes.fields import Count


class RunningView(BaseModel):
    """A job that a worker runs."""

    job_id: str
    task: str
    queue: str
    since: datetime | None
    progress: dict[str, Any] | None


class WorkerView(BaseModel):
    id: str
    name: str
    queues: list[str]
    slots: int
    active: int
    alive: bool
    started_at: datetime | None
    expires_at: datetime | None
    order: Order | None  # what a person has told it to do
    memory: int | None  # bytes
    running: list[RunningView]  # of the latest 200 jobs that run anywhere, the longest first


class TakenBackView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    job_id: str
    task: str
    state: State  # that it was put into


class LostView(BaseModel):
    """A worker that was lost in the last hour, and what was taken back from it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str | None  # None: only its heartbeat was missed
    at: datetime
    why: str
    rescued: Count
    jobs: list[TakenBackView]  # the first of them


class Workers(BaseModel):
    workers: list[WorkerView]
    lost: list[LostView]


class OrderedView(BaseModel):
    id: str
    name: str
    order: Order | None
