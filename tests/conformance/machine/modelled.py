"""What the model knows of one job, and what is compared with the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from penstock.model.job import RECORD, Job, OnFailure, Window
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State


@dataclass
class Modelled:
    """What the model knows of one job."""

    id: str
    queue: str
    key: str
    unique: bool
    priority: int
    max_attempts: int
    due_at: datetime
    expires: datetime | None
    state: State | None = None
    attempt: int = 0
    errors: int = 0
    suspect: bool = False
    crashes: int = 0
    rescues: int = 0
    cancel_requested: bool = False
    misfit: str | None = None
    token: str | None = None
    worker: str | None = None
    request: str | None = None
    finished_at: datetime | None = None
    ended_by: set[str] = field(default_factory=set)
    recovered_as: str | None = None
    recovered_from: str | None = None
    window: Window = RECORD
    begun: bool = False
    edges: dict[str, OnFailure] = field(default_factory=dict)  # those not resolved
    deadline: datetime | None = None
    at_deadline: str = "skip"
    tied: bool = False  # it has waited for others
    flow: str | None = None
    steps: dict[str, str] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[datetime, str]:
        return self.due_at - timedelta(seconds=HEAD_START[Priority(self.priority)]), self.id

    @property
    def parked(self) -> bool:
        return self.misfit is not None and self.state is State.WAITING


REPORTED = (
    "state", "queue", "attempt", "max_attempts", "suspect", "crashes", "rescues", "parked", "due_at", "key",
    "unique", "finished_at", "recovered_from", "recovered_as", "flow",
)  # fmt: skip


def seen(job: Job | Modelled) -> dict[str, Any]:
    """What the engine reports of a job, and the model knows of it."""
    errors = job.errors if isinstance(job, Modelled) else len(job.errors)
    running = (job.worker, job.cancel_requested) if job.state is State.ACTIVE else None
    waits_for = set(job.edges if isinstance(job, Modelled) else job.blocked_by)
    told = {"errors": errors, "running": running, "waits_for": waits_for if _blocked(job) else None}
    return {name: getattr(job, name) for name in REPORTED} | told


def _blocked(job: Job | Modelled) -> bool:
    return job.state is State.BLOCKED
