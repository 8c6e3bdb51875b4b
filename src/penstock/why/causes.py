"""What is answered to "why"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Because(StrEnum):
    """Every answer there is. `docs/why.md` says what each means."""

    # it cannot be run
    UNKNOWN_TASK = "unknown-task"
    MISFIT = "misfit"
    SWITCHED_OFF = "switched-off"
    # it is not its time
    BLOCKED = "blocked"
    DELAYED = "delayed"
    RETRY = "retry"
    SNOOZED = "snoozed"
    # nobody takes it
    PAUSED = "paused"
    NO_WORKER = "no-worker"
    ENGINE_AWAY = "engine-away"
    # something is used up
    BREAKER_OPEN = "breaker-open"
    BREAKER_PROBED = "breaker-probed"
    COOLDOWN = "cooldown"
    RATE = "rate"
    CONCURRENCY = "concurrency"
    BUSY = "busy"
    BEHIND = "behind"
    # nothing holds it back
    NEXT = "next"
    UNCLAIMED = "unclaimed"
    # it runs
    RUNNING = "running"
    STOPPING = "stopping"
    OVERDUE = "overdue"
    WORKER_LOST = "worker-lost"
    # it has ended
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One reason: what is so, until when where that is known, and what to type next."""

    because: Because
    text: str
    next: str | None = None  # the words after `penstock`
    until: datetime | None = None
    jobs: tuple[str, ...] = ()  # those that it is about: for which it waits, or which hold what it needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job is as it is; the first cause is the decisive one."""

    job_id: str
    task: str
    queue: str
    state: str
    at: datetime  # by the engine's clock
    causes: tuple[Cause, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "job_id": self.job_id,
            "task": self.task,
            "queue": self.queue,
            "state": self.state,
            "at": self.at.isoformat(),
            "causes": [
                {
                    "because": cause.because.value,
                    "text": cause.text,
                    "next": cause.next and f"penstock {cause.next}",
                    "until": cause.until and cause.until.isoformat(),
                    "jobs": list(cause.jobs),
                }
                for cause in self.causes
            ],
        }
