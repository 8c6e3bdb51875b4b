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


# What may be told to whoever owns the job and runs nothing here: of no other job, no worker, no error.
MEANING = {
    Because.UNKNOWN_TASK: "No worker can run it yet.",
    Because.MISFIT: "No worker can run it yet.",
    Because.SWITCHED_OFF: "Work of this kind is switched off for now.",
    Because.BLOCKED: "It waits for other jobs.",
    Because.DELAYED: "It is not due yet.",
    Because.RETRY: "An attempt failed; it is tried again.",
    Because.SNOOZED: "It was put off.",
    Because.PAUSED: "Its queue is paused.",
    Because.NO_WORKER: "No worker is there to run it.",
    Because.ENGINE_AWAY: "It is kept, and goes on when the system is back.",
    Because.BREAKER_OPEN: "A service that it needs is down.",
    Because.BREAKER_PROBED: "A service that it needs is being tried.",
    Because.COOLDOWN: "A limit is reached.",
    Because.RATE: "A limit is reached.",
    Because.CONCURRENCY: "A limit is reached.",
    Because.BUSY: "All workers are busy.",
    Because.BEHIND: "Others stand before it.",
    Because.NEXT: "It starts in a moment.",
    Because.UNCLAIMED: "It waits for a worker.",
    Because.RUNNING: "It is running.",
    Because.STOPPING: "It is being stopped.",
    Because.OVERDUE: "It runs longer than it should.",
    Because.WORKER_LOST: "Its worker was lost; it will run again.",
    Because.COMPLETED: "It has completed.",
    Because.FAILED: "It has failed.",
    Because.CANCELLED: "It was cancelled.",
}


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

    def as_dict(self, *, narrow: bool = False) -> dict[str, Any]:
        """For programs; `narrow` for those who own the job and nothing else here."""
        return {
            "job_id": self.job_id,
            "task": self.task,
            "queue": self.queue,
            "state": self.state,
            "at": self.at.isoformat(),
            "causes": [_narrow(cause) if narrow else _whole(cause) for cause in self.causes],
        }


def _narrow(cause: Cause) -> dict[str, Any]:
    return {
        "because": cause.because.value,
        "text": MEANING[cause.because],
        "until": cause.until and cause.until.isoformat(),
    }


def _whole(cause: Cause) -> dict[str, Any]:
    return {
        "because": cause.because.value,
        "text": cause.text,
        "next": cause.next and f"penstock {cause.next}",
        "until": cause.until and cause.until.isoformat(),
        "jobs": list(cause.jobs),
    }
