"""Health and findings, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from penstock.engine import Level
from penstock.web.shapes.fields import Count, Told


class Probe(BaseModel):
    status: Literal["ok", "unavailable"]


class EngineHealthView(BaseModel):
    status: Literal["ok", "unreachable"]
    error: str | None
    answered_in: float | None


class QueueHealthView(BaseModel):
    status: Literal["ok", "backlogged", "stalled"]
    waiting: Count
    active: Count
    error_rate: float
    delayed: Count
    parked: Count
    paused: bool
    oldest_age: float | None


class WorkerHealthView(BaseModel):
    status: Literal["running", "paused", "down"]
    concurrency: Count
    processing: Count
    queues: list[str]


class ProblemView(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    text: str
    next: str | None  # the command to type


class HealthView(BaseModel):
    """How all is; the worst wins."""

    status: Literal["healthy", "degraded", "unhealthy"]
    engine: EngineHealthView
    queues: dict[str, QueueHealthView]
    workers: dict[str, WorkerHealthView]
    dlq_size: Count
    problems: list[ProblemView]
    last_check: datetime


class FindingView(Told):
    name: str
    level: Level
    text: str


class Findings(BaseModel):
    """What `penstock doctor` finds."""

    safe: bool  # whether a worker would start
    accepted: list[str]
    findings: list[FindingView]
