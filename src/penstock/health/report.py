"""What is told of the health of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple


class Status(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"

    @property
    def badness(self) -> int:
        return [*Status].index(self)


class QueueStatus(StrEnum):
    OK = "ok"
    BACKLOGGED = "backlogged"
    STALLED = "stalled"


class WorkerStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # all its queues are, or it was told to claim nothing
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From when on something is not well."""

    backlogged: int = 1_000  # waiting jobs
    stalled: int = 5_000
    stalled_after: float = 300.0  # seconds for which work waits and nothing of its queue runs or ends
    error_rate: float = 0.10  # failed, of those that ended in the last minute


class Problem(NamedTuple):
    """One thing that is not well, how bad that is, and the command to type next."""

    status: Status
    text: str
    next: str | None = None  # the words after `penstock`


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHealth:
    queue: str
    status: QueueStatus
    waiting: int  # parked ones are not among them
    active: int
    delayed: int = 0
    parked: int = 0
    paused: bool = False
    error_rate: float = 0.0
    throughput: float = 0.0  # completed in the last minute
    oldest_age: float | None = None  # seconds for which the longest waiting job has been due


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHealth:
    id: str
    name: str
    status: WorkerStatus
    concurrency: int
    processing: int
    queues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The worst of what there is to say, and all of it."""

    status: Status
    checked_at: datetime
    engine_error: str | None = None  # why it cannot be reached
    answered_in: float | None = None  # seconds that the engine took for all that was asked
    queues: Sequence[QueueHealth] = ()
    workers: Sequence[WorkerHealth] = ()
    dead_letters: int = 0
    problems: Sequence[Problem] = ()

    def as_dict(self) -> dict[str, Any]:
        """For programs, in the documents' words."""
        return {
            "status": self.status.value,
            "engine": {
                "status": "ok" if self.engine_error is None else "unreachable",
                "error": self.engine_error,
                "answered_in": self.answered_in,
            },
            "queues": {queue.queue: _queue(queue) for queue in self.queues},
            "workers": dict(zip(self._names(), map(_worker, self.workers), strict=True)),
            "dlq_size": self.dead_letters,
            "problems": [
                {"status": status.value, "text": text, "next": words and f"penstock {words}"}
                for status, text, words in self.problems
            ],
            "last_check": self.checked_at.isoformat(),
        }

    def _names(self) -> list[str]:
        """Containers may give two workers the same name."""
        known = Counter(worker.name for worker in self.workers)
        return [w.name if known[w.name] == 1 else f"{w.name} {w.id}" for w in self.workers]


def _queue(queue: QueueHealth) -> dict[str, Any]:
    return {
        "status": queue.status.value,
        "waiting": queue.waiting,
        "active": queue.active,
        "error_rate": queue.error_rate,
        "delayed": queue.delayed,
        "parked": queue.parked,
        "paused": queue.paused,
        "throughput": queue.throughput,
        "oldest_age": queue.oldest_age,
    }


def _worker(worker: WorkerHealth) -> dict[str, Any]:
    return {
        "status": worker.status.value,
        "concurrency": worker.concurrency,
        "processing": worker.processing,
        "queues": list(worker.queues),
    }
