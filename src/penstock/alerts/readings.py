"""What rules look at, read from the engine: bounded, and none of it scans a table."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from penstock.alerts.config import Alerting
from penstock.alerts.failures import Failures, failures_of
from penstock.alerts.names import Scope, Value
from penstock.alerts.recent import Recent, by_queue, recent
from penstock.alerts.rules import Subject
from penstock.engine import DeadFilter, Engine, JobFilter, QueueState, ScheduleRow
from penstock.model.breaker import BreakerState, Circuit
from penstock.model.errors import PenstockError
from penstock.model.job import DeadLetter, Job
from penstock.model.states import State
from penstock.tasks.registry import Registry
from penstock.tasks.spec import read_spec

WINDOW = timedelta(seconds=60)
LONGEST_WINDOW = timedelta(hours=1)  # that is looked back over after a time in which nobody watched
PAGE = 200
MOST_JOBS = 2_000  # active jobs that are looked at
LAG_TIMEOUT = 2.0  # seconds
MOST_NAMED = 10  # breakers in one message
WARN_AT = 0.8  # of the timeout


class Readings(NamedTuple):
    now: datetime
    subjects: list[Subject]


async def gather(engine: Engine, registry: Registry, alerting: Alerting, seen: datetime | None) -> Readings:
    """Everything that there is to look at; `seen` is when somebody last did.

    What the survey says there is none of is not asked for.
    """
    survey = await engine.survey(2 * WINDOW.total_seconds())
    now, workers = survey.now, survey.workers
    states = {state.queue: state for state in survey.queues}
    active = await _active(engine, survey.queues)
    minutes = recent(survey.minutes, now)
    since = max(min(now - WINDOW, seen or now), now - LONGEST_WINDOW)
    letters = await _dead(engine, since) if survey.dead else []

    system: dict[str, Value] = {
        "dlq_size": float(survey.dead),
        "workers": float(sum(worker.alive for worker in workers)),
        "relay_lag": await _relay_lag(alerting),
        **_breakers(survey.breakers),
    }
    running = [_run(job, registry, now) for job in active]
    alive = {worker.id for worker in workers if worker.alive}
    seen_of = _Seen(
        Counter(queue for worker in workers if worker.alive for queue in set(worker.queues)),
        Counter(run.job.queue for run in running if run.stalled(alive)),
        by_queue(minutes),
    )
    queues = {
        name: system | _queue(name, states.get(name), seen_of, alerting, now)
        for name in sorted({*states, *alerting.expected_workers})
    }
    unknown: dict[tuple[str, str], float] = defaultdict(float)
    for lane in survey.parked:
        unknown[lane.queue, lane.task] += lane.jobs
    return Readings(
        now,
        [
            Subject(Scope.SYSTEM, "system", system),
            *(Subject(Scope.QUEUE, name, values) for name, values in queues.items()),
            *_tasks(queues, system, minutes, failures_of(minutes, letters), unknown),
            *(_job(run, queues.get(run.job.queue, system)) for run in running),
            *(_schedule(row, queues, system, now) for row in survey.schedules),
        ],
    )


class _Seen(NamedTuple):
    """By queue."""

    workers: Counter[str]
    stalled: Counter[str]
    recent: Mapping[str, Recent]


# -- queues -------------------------------------------------------------------------------------------
def _queue(
    name: str,
    state: QueueState | None,
    seen: _Seen,
    alerting: Alerting,
    now: datetime,
) -> dict[str, Value]:
    counts = {} if state is None else state.counts
    paused = state is not None and state.paused
    ended = seen.recent.get(name, Recent({}))
    waiting, active = counts.get(State.WAITING, 0), counts.get(State.ACTIVE, 0)
    needed = 1 if (waiting or active) and not paused else 0
    oldest = None if state is None else state.oldest_at
    return {
        "queue": name,
        "waiting": float(waiting),
        "active": float(active),
        "delayed": float(counts.get(State.DELAYED, 0)),
        "blocked": float(counts.get(State.BLOCKED, 0)),
        "paused": float(paused),
        "oldest_age": 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
        "error_rate": ended.error_rate,
        "throughput": ended.throughput,
        "processing_time": ended.processing_time,
        "worker_count": float(seen.workers[name]),
        "stalled_count": float(seen.stalled[name]),
        "expected_workers": float(alerting.expected_workers.get(name, needed)),
    }


def _breakers(states: Iterable[BreakerState]) -> dict[str, Value]:
    found = [state.breaker.name for state in states if state.circuit is not Circuit.CLOSED]
    listed = ", ".join(found[:MOST_NAMED]) + (" …" if len(found) > MOST_NAMED else "")
    return {"open_breakers": float(len(found)), "breaker_names": listed}


async def _relay_lag(alerting: Alerting) -> float | None:
    if alerting.relay_lag is not None:
        with suppress(PenstockError, TimeoutError):
            async with asyncio.timeout(LAG_TIMEOUT):
                return await alerting.relay_lag()
    return None


# -- tasks --------------------------------------------------------------------------------------------
async def _dead(engine: Engine, since: datetime) -> list[DeadLetter]:
    """Of the newest jobs that are dead, those that died lately: workers do not count what the engine ends.

    Engines look through all their dead letters for a time, so that is not asked for.
    """
    newest = await engine.dead_letters(DeadFilter(payloads=False), PAGE)
    return [letter for letter in newest if letter.failed_at >= since]


def _tasks(
    queues: Mapping[str, Mapping[str, Value]],
    system: Mapping[str, Value],
    minutes: Mapping[tuple[str, str], Recent],
    failures: Mapping[tuple[str, str], Failures],
    unknown: Mapping[tuple[str, str], float],
) -> Iterable[Subject]:
    for queue, task in sorted({*minutes, *failures, *unknown}):
        failed = failures.get((queue, task), Failures(0.0, None))
        counted = minutes.get((queue, task), Recent({}))
        values = {
            **queues.get(queue, system),
            "queue": queue,
            "job_name": task,
            "failures": failed.number,
            "failure_class": failed.worst,
            "timed_out": counted.whole("timed_out"),
            "missed_deadlines": counted.whole("missed"),
            "unknown_jobs": unknown.get((queue, task), 0.0),
        }
        yield Subject(Scope.TASK, f"{queue}/{task}", values)


# -- jobs ---------------------------------------------------------------------------------------------
class Run(NamedTuple):
    """A job that runs."""

    job: Job
    seconds: float
    timeout: float | None

    def stalled(self, alive: set[str]) -> bool:
        return self.job.worker not in alive or (self.timeout is not None and self.seconds > self.timeout)


async def _active(engine: Engine, states: Iterable[QueueState]) -> list[Job]:
    found: list[Job] = []
    for state in states:
        last = None
        while state.counts.get(State.ACTIVE) and len(found) < MOST_JOBS:
            page = await engine.jobs(
                JobFilter(queue=state.queue, state=State.ACTIVE, payloads=False), PAGE, last
            )
            found += page
            if len(page) < PAGE:
                break
            last = page[-1].id
    return found


def _run(job: Job, registry: Registry, now: datetime) -> Run:
    task = registry.get(job.task)
    timeout = None
    with suppress(PenstockError):  # options that cannot be read end the job, not us
        timeout = None if task is None else task.timeout_for(job.options_json)
    began = job.claimed_at or now
    return Run(job, max(0.0, (now - began).total_seconds()), timeout)


def _job(run: Run, queue: Mapping[str, Value]) -> Subject:
    values = {
        **queue,
        "job_name": run.job.task,
        "job_id": run.job.id,
        "active_duration": run.seconds,
        "duration": float(int(run.seconds)),
        "timeout": run.timeout,
        "timeout_threshold": None if run.timeout is None else run.timeout * WARN_AT,
    }
    return Subject(Scope.JOB, run.job.id, values)


# -- schedules ----------------------------------------------------------------------------------------
def _schedule(
    row: ScheduleRow,
    queues: Mapping[str, Mapping[str, Value]],
    system: Mapping[str, Value],
    now: datetime,
) -> Subject:
    queue = None
    with suppress(PenstockError):  # one that cannot be read does not fire: the more it is to be looked at
        queue = read_spec(row.spec).job.queue
    late = 0.0 if row.next_at is None or row.paused else max(0.0, (now - row.next_at).total_seconds())
    values = {
        **(queues.get(queue, system) if queue else system),
        "schedule": row.id,
        "schedule_lateness": late,
    }
    return Subject(Scope.SCHEDULE, row.id, values)
