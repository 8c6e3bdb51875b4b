"""From what was seen to how well it is: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.engine import QueueState, WorkerInfo
from penstock.health.report import (
    Health,
    Problem,
    QueueHealth,
    QueueStatus,
    Status,
    Thresholds,
    WorkerHealth,
    WorkerStatus,
)
from penstock.model.spans import span
from penstock.model.states import State

UNSERVED_AFTER = 30.0  # seconds that work may wait without a worker, as during a deploy


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How runs of a queue ended lately."""

    lately: float = 0.0  # of all kinds, in the time after which work that waits counts as stalled
    completed: float = 0.0  # in the last minute
    failed: float = 0.0

    @property
    def error_rate(self) -> float:
        ended = self.completed + self.failed
        return self.failed / ended if ended else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the engine has answered."""

    now: datetime
    queues: Sequence[QueueState]
    workers: Sequence[WorkerInfo]
    dead_letters: int
    parked: Mapping[str, int] = field(default_factory=dict)  # by queue
    ends: Mapping[str, Ends] = field(default_factory=dict)
    answered_in: float | None = None


def judge(sight: Sight, limits: Thresholds) -> Health:
    """The worst wins."""
    queues = [_queue(state, sight, limits) for state in sight.queues]
    paused = {state.queue for state in sight.queues if state.paused}
    workers = [_worker(worker, paused) for worker in sight.workers]
    problems = [
        *_of_workers(workers, queues),
        *(problem for queue in queues for problem in _of_queue(queue, sight, limits)),
    ]
    problems.sort(key=lambda problem: -problem.status.badness)
    return Health(
        status=problems[0].status if problems else Status.HEALTHY,
        checked_at=sight.now,
        answered_in=sight.answered_in,
        queues=queues,
        workers=workers,
        dead_letters=sight.dead_letters,
        problems=problems,
    )


def _queue(state: QueueState, sight: Sight, limits: Thresholds) -> QueueHealth:
    parked = sight.parked.get(state.queue, 0)
    waiting = max(0, state.counts.get(State.WAITING, 0) - parked)
    age = None if state.oldest_at is None else max(0.0, (sight.now - state.oldest_at).total_seconds())
    status = QueueStatus.OK
    if waiting > limits.stalled or _stands_still(state, waiting, age, sight, limits):
        status = QueueStatus.STALLED
    elif waiting > limits.backlogged:
        status = QueueStatus.BACKLOGGED
    ends = _ends(sight, state.queue)
    return QueueHealth(
        queue=state.queue,
        status=status,
        waiting=waiting,
        active=state.counts.get(State.ACTIVE, 0),
        delayed=state.counts.get(State.DELAYED, 0),
        parked=parked,
        paused=state.paused,
        error_rate=ends.error_rate,
        throughput=ends.completed,
        oldest_age=age,
    )


def _stands_still(
    state: QueueState, waiting: int, age: float | None, sight: Sight, limits: Thresholds
) -> bool:
    """Whether work waits and nothing moves, or nobody is there to move it. Who pauses a queue means it."""
    if not waiting or age is None or state.paused:
        return False
    if not _served(sight, state.queue):
        return age > UNSERVED_AFTER
    moves = state.counts.get(State.ACTIVE, 0) or _ends(sight, state.queue).lately
    return age > limits.stalled_after and not moves


def _served(sight: Sight, queue: str) -> bool:
    return any(worker.claims and queue in worker.queues for worker in sight.workers)


def _ends(sight: Sight, queue: str) -> Ends:
    return sight.ends.get(queue, Ends())


def _worker(worker: WorkerInfo, paused: set[str]) -> WorkerHealth:
    status = WorkerStatus.RUNNING
    if not worker.alive:
        status = WorkerStatus.DOWN
    elif not worker.claims or (worker.queues and paused.issuperset(worker.queues)):
        status = WorkerStatus.PAUSED
    return WorkerHealth(
        id=worker.id,
        name=worker.name,
        status=status,
        concurrency=worker.slots,
        processing=worker.active,
        queues=worker.queues,
    )


def _of_workers(workers: Sequence[WorkerHealth], queues: Sequence[QueueHealth]) -> Iterator[Problem]:
    down = [worker for worker in workers if worker.status is WorkerStatus.DOWN]
    alive = len(workers) - len(down)
    for worker in down:
        rescue = "others take that over" if alive else "no other is alive to take that over"
        held = f", with {worker.processing:,} in its hands: {rescue}" if worker.processing else ""
        text = f"worker {worker.name} is down{held}"
        yield Problem(Status.UNHEALTHY, text, "workers" if alive else "worker")
    unserved = [queue.queue for queue in queues if queue.status is QueueStatus.STALLED]
    if not workers and unserved:
        yield Problem(Status.UNHEALTHY, "no worker is running, and work waits", "worker")


def _of_queue(queue: QueueHealth, sight: Sight, limits: Thresholds) -> Iterator[Problem]:
    if queue.error_rate > limits.error_rate:
        rate = f"{100 * queue.error_rate:.0f} % of what ended in the last minute failed"
        yield Problem(Status.UNHEALTHY, f"queue {queue.queue}: {rate}", f"dlq list -q {queue.queue}")
    if queue.status is QueueStatus.OK:
        return
    text, words = f"{queue.waiting:,} waiting", f"jobs -q {queue.queue} -s waiting"
    if not _served(sight, queue.queue) and not queue.paused:
        text, words = f"{text}, and no live worker serves it", f"worker --queue {queue.queue}"
    elif queue.waiting <= limits.backlogged:
        text = f"{text}, the longest for {span(queue.oldest_age or 0)}, and nothing moves"
    yield Problem(Status.DEGRADED, f"queue {queue.queue} is {queue.status}: {text}", words)


def unreachable(error: str) -> Health:
    """Nothing is known, and that is bad enough."""
    now = datetime.now(UTC)
    problem = Problem(Status.UNHEALTHY, f"the engine cannot be reached: {error}", "doctor")
    return Health(status=Status.UNHEALTHY, checked_at=now, engine_error=error, problems=[problem])
