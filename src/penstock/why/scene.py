"""What was seen around a job, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from penstock.engine import LimitState, Standing, WorkerInfo
from penstock.model.breaker import BreakerState
from penstock.model.job import DeadLetter, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the app of whoever asks knows of the task."""

    task: bool = False
    signature: str | None = None
    closed: str | None = None  # why its gate is closed now
    timeout: float | None = None  # seconds that a run of this job may take
    per_worker: int | None = None  # jobs of its queue that one worker process runs at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Something that a blocked job waits for: a job, or the tick of a schedule that has not made one yet."""

    id: str
    job: Job | None = None
    schedule: str | None = None
    due: datetime | None = None  # the tick's
    schedule_paused: bool = False
    schedule_next: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A job and everything that may hold it back."""

    now: datetime
    job: Job
    known: Known = Known()
    letter: DeadLetter | None = None
    paused: bool = False
    workers: tuple[WorkerInfo, ...] = ()
    running: tuple[Job, ...] = ()  # active jobs of its queue, the newest
    limits: tuple[LimitState, ...] = ()
    breakers: Mapping[str, BreakerState] = field(default_factory=dict)
    upstreams: tuple[Upstream, ...] = ()
    standing: Standing | None = None

    @property
    def serving(self) -> list[WorkerInfo]:
        """The workers that live and take jobs from the queue."""
        return [worker for worker in self.workers if worker.claims and self.job.queue in worker.queues]

    def worker(self, worker_id: str | None) -> WorkerInfo | None:
        return next((worker for worker in self.workers if worker.id == worker_id), None)
