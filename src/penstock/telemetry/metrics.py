"""How the queues do: what waits, what was done, how fast, and how much of it went wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from penstock.engine import Engine, Minute, QueueState, Sample
from penstock.engine.counting import QUARTER
from penstock.model.errors import InvalidOption, PenstockError
from penstock.model.histogram import BUCKETS, quantile
from penstock.model.states import State

MINUTE = 60.0
WINDOW = 60.0  # seconds that are looked back on
LATELY = 30  # steps of the last hour

Span: TypeAlias = Literal["hour", "day", "week"]
Sums: TypeAlias = dict[str, float]

# Of a span: how many seconds it has, and how many one point of its series stands for.
SPANS: dict[Span, tuple[float, float]] = {
    "hour": (3_600.0, 60.0),
    "day": (86_400.0, 900.0),
    "week": (7 * 86_400.0, 7_200.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What workers have counted in a time. Times are of runs that completed or failed, attempts each."""

    throughput_per_minute: float = 0.0  # jobs completed
    error_rate: float = 0.0  # failed of those that completed or failed, 0 to 1; 0 where none did
    avg_processing_time_ms: float = 0.0
    p50_processing_time_ms: float = 0.0
    p95_processing_time_ms: float = 0.0
    p99_processing_time_ms: float = 0.0
    avg_wait_time_ms: float = 0.0  # from the due time to the start
    p50_wait_time_ms: float = 0.0
    p95_wait_time_ms: float = 0.0
    p99_wait_time_ms: float = 0.0
    retries: float = 0.0
    dead_letters: float = 0.0  # written in that time
    rescued: float = 0.0  # jobs taken back from workers that were lost
    lost_leases: float = 0.0  # ends of runs that were refused: the job had passed on
    timed_out: float = 0.0
    expired: float = 0.0  # jobs whose expiry passed before they could begin
    missed_deadlines: float = 0.0  # jobs for which others were not done in time

    @classmethod
    def of(cls, sums: Mapping[str, float], seconds: float, **more: Any) -> Self:
        """From the sums of `seconds`."""
        completed, failed = sums.get("completed", 0.0), sums.get("failed", 0.0)
        return cls(
            throughput_per_minute=round(completed * MINUTE / seconds, 3),
            error_rate=failed / (completed + failed) if completed + failed else 0.0,
            **_times(sums, "run", "processing"),
            **_times(sums, "wait", "wait"),
            retries=round(sums.get("retried", 0.0), 3),
            dead_letters=round(sums.get("dead", 0.0), 3),
            rescued=round(sums.get("rescued", 0.0), 3),
            lost_leases=round(sums.get("lost", 0.0), 3),
            timed_out=round(sums.get("timed_out", 0.0), 3),
            expired=round(sums.get("expired", 0.0), 3),
            missed_deadlines=round(sums.get("missed", 0.0), 3),
            **more,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMetrics(Counted):
    """A queue: what is in it now, and what was counted."""

    queue: str
    timestamp: datetime
    waiting: int = 0
    active: int = 0
    completed: int = 0  # records kept
    failed: int = 0  # as above
    delayed: int = 0
    blocked: int = 0
    cancelled: int = 0  # records kept
    paused: bool = False
    oldest_waiting_s: float = 0.0  # for how long the one that has waited longest was due


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMetrics(Counted):
    """A task in a queue: what was counted."""

    queue: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Counted):
    """What was counted in one step of a series."""

    at: datetime  # its beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything at one moment."""

    timestamp: datetime
    window_s: float  # the time over which was counted
    queues: list[QueueMetrics]
    tasks: list[TaskMetrics]
    dlq_size: int  # dead letters that wait for somebody
    worker_count: int  # that are alive
    relay_lag_s: float | None  # for how long the oldest row of the outbox waits; None: there is none
    schedule_lateness_s: float  # how long the next tick of a schedule is overdue, of the latest


class _Taken(NamedTuple):
    """The minutes of a time, added up."""

    at: datetime
    by_queue: dict[str, Sums]
    by_task: dict[tuple[str, str], Sums]


class Metrics:
    """Asks the engine; counts nothing by itself."""

    def __init__(
        self,
        engine: Engine,
        declared: Collection[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        lag: Callable[[], Awaitable[float | None]] | None = None,
    ) -> None:
        self._engine = engine
        self._declared = declared  # queues that are told of even if nothing ever was in them
        self._now = now
        self._lag = lag

    async def snapshot(self, window: float = WINDOW, queue: str | None = None) -> Snapshot:
        """All that is told, of one queue or of all, over the last `window` seconds."""
        taken = await self._taken(window, queue)
        return Snapshot(
            timestamp=taken.at,
            window_s=window,
            queues=await self._queues(taken, window, queue),
            tasks=_tasks(taken, window),
            dlq_size=await self._engine.dead_count(),
            worker_count=sum(worker.alive for worker in await self._engine.workers()),
            relay_lag_s=await self._relay_lag(),
            schedule_lateness_s=await self._lateness(taken.at),
        )

    async def queues(self, window: float = WINDOW, queue: str | None = None) -> list[QueueMetrics]:
        """Every queue that is declared or was used, by name."""
        return await self._queues(await self._taken(window, queue), window, queue)

    async def tasks(self, window: float = WINDOW, queue: str | None = None) -> list[TaskMetrics]:
        """Every task of which something was counted, by queue and name."""
        return _tasks(await self._taken(window, queue), window)

    async def series(self, span: Span, queue: str | None = None) -> list[Point]:
        """The last hour, day or week in equal steps, oldest first; the last of them is not over yet."""
        if span not in SPANS:
            raise InvalidOption(f"a series is of the last {', '.join(SPANS)}, not {span!r}")
        length, step = SPANS[span]
        now = self._now().timestamp()
        first = now // step * step + step - length
        sums: list[Sums] = [{} for _ in range(round(length / step))]
        ask = self._engine.series if step < QUARTER else self._engine.quarters
        for counted in await ask(_at(first), _at(now + MINUTE), queue):
            k = min(int((counted.at.timestamp() - first) // step), len(sums) - 1)
            _add(sums[k], counted.measures)
        return [Point.of(found, step, at=_at(first + k * step)) for k, found in enumerate(sums)]

    async def lately(self) -> dict[str, list[float]]:
        """By queue what was completed in the last hour, in LATELY equal steps, oldest first."""
        now = self._now().timestamp()
        step = SPANS["hour"][0] / LATELY
        first = now // MINUTE * MINUTE + MINUTE - SPANS["hour"][0]
        found: dict[str, list[float]] = {}
        for minute in await self._engine.series(_at(first), _at(now + MINUTE)):
            steps = found.setdefault(minute.queue, [0.0] * LATELY)
            k = min(int((minute.at.timestamp() - first) // step), LATELY - 1)
            steps[k] += minute.measures.get("completed", 0.0)
        return found

    async def totals(self) -> list[Sample]:
        """All that was ever counted, by queue and task."""
        return await self._engine.totals()

    # -- parts --------------------------------------------------------------------------------------
    async def _taken(self, window: float, queue: str | None) -> _Taken:
        """What was counted since then: of the minute in which that lies a share."""
        at = self._now()
        since = at.timestamp() - window
        taken = _Taken(at, {}, {})
        # The engine's clock may be a little ahead of ours: what it calls the next minute is this one.
        until = at.timestamp() + MINUTE
        for minute in await self._engine.series(_at(since // MINUTE * MINUTE), _at(until), queue):
            share = _share(minute, since)
            _add(taken.by_queue.setdefault(minute.queue, {}), minute.measures, share)
            _add(taken.by_task.setdefault((minute.queue, minute.task), {}), minute.measures, share)
        return taken

    async def _queues(self, taken: _Taken, window: float, queue: str | None) -> list[QueueMetrics]:
        known = {state.queue: state for state in await self._engine.queues()}
        names = sorted({*known, *self._declared} if queue is None else {queue})
        return [_queue(name, known.get(name), taken, window) for name in names]

    async def _relay_lag(self) -> float | None:
        try:
            return None if self._lag is None else await self._lag()
        except PenstockError:
            return None  # `penstock doctor` tells why

    async def _lateness(self, now: datetime) -> float:
        due = [row.next_at for row in await self._engine.schedules() if row.next_at and not row.paused]
        return max([0.0, *((now - at).total_seconds() for at in due)])


def _queue(name: str, state: QueueState | None, taken: _Taken, window: float) -> QueueMetrics:
    counts = {} if state is None else state.counts
    oldest = None if state is None else state.oldest_at
    return QueueMetrics.of(
        taken.by_queue.get(name, {}),
        window,
        queue=name,
        timestamp=taken.at,
        paused=state is not None and state.paused,
        oldest_waiting_s=0.0 if oldest is None else max(0.0, (taken.at - oldest).total_seconds()),
        **{each.value: counts.get(each, 0) for each in State},
    )


def _tasks(taken: _Taken, window: float) -> list[TaskMetrics]:
    return [
        TaskMetrics.of(sums, window, queue=queue, task=task)
        for (queue, task), sums in sorted(taken.by_task.items())
    ]


def _times(sums: Mapping[str, float], measure: str, name: str) -> dict[str, float]:
    counts = buckets(sums, measure)
    many = sum(counts)
    told = {"avg": sums.get(f"{measure}_sum", 0.0) / many if many else 0.0}
    told |= {f"p{percent}": quantile(counts, percent / 100) for percent in (50, 95, 99)}
    return {f"{which}_{name}_time_ms": round(seconds * 1_000, 3) for which, seconds in told.items()}


def buckets(sums: Mapping[str, float], measure: str) -> list[float]:
    """How many fell into each bucket of a histogram."""
    return [sums.get(f"{measure}:{k}", 0.0) for k in range(BUCKETS)]


def added(samples: Iterable[Sample]) -> Sums:
    """Samples added up."""
    sums: Sums = {}
    for sample in samples:
        _add(sums, sample.measures)
    return sums


def _add(sums: Sums, measures: Mapping[str, float], share: float = 1.0) -> None:
    for name, value in measures.items():
        sums[name] = sums.get(name, 0.0) + value * share


def _share(minute: Minute, since: float) -> float:
    """How much of the minute lies after that moment."""
    return min(1.0, max(0.0, (minute.at.timestamp() + MINUTE - since) / MINUTE))


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
