"""Everything at one glance: how all is, what each worker runs, and what needs somebody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.engine import Engine, JobFilter, Parked
from penstock.health import Health, HealthCheck, Problem, Status, unreachable
from penstock.model.breaker import BreakerState, Circuit
from penstock.model.errors import EngineError
from penstock.model.job import Job
from penstock.model.spans import span
from penstock.model.states import State

RUNNING_SEEN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One glance."""

    health: Health
    running: Mapping[str, Sequence[Job]] = field(default_factory=dict)  # by worker, the longest first
    attention: Sequence[Problem] = ()  # the worst first


async def look(engine: Engine, health: HealthCheck) -> Overview:
    """Look once; an engine that is away is told, not raised."""
    found = await health.report()
    if found.engine_error is not None:
        return Overview(health=found, attention=found.problems)
    try:
        runs = await running(engine)
        attention = [
            *found.problems,
            *_parked(await engine.parked()),
            *_breakers(await engine.breakers()),
            *_left(found),
        ]
    except EngineError as error:
        return Overview(health=(away := unreachable(str(error))), attention=away.problems)
    return Overview(health=found, running=runs, attention=attention)


async def running(engine: Engine) -> Mapping[str, Sequence[Job]]:
    """What runs, by worker, the longest first; of all that do the latest RUNNING_SEEN."""
    found: dict[str, list[Job]] = defaultdict(list)
    jobs = await engine.jobs(JobFilter(state=State.ACTIVE, payloads=False), RUNNING_SEEN)
    for job in sorted(jobs, key=lambda job: job.claimed_at or job.created_at):
        found[job.worker or ""].append(job)
    return found


def _parked(lanes: Sequence[Parked]) -> Iterator[Problem]:
    for lane in lanes:
        text = f"parked in {lane.queue}: {lane.jobs:,} of task {lane.task}: {lane.reason}"
        yield Problem(Status.DEGRADED, text, f"jobs --parked -q {lane.queue}")


def _breakers(states: Sequence[BreakerState]) -> Iterator[Problem]:
    for state in states:
        if state.circuit is not Circuit.CLOSED:
            again = "" if state.retry_in is None else f", tried again in {span(state.retry_in)}"
            text = f"breaker {state.breaker.name} is {state.circuit}{again}"
            yield Problem(Status.DEGRADED, text, "breakers")


def _left(health: Health) -> Iterator[Problem]:
    """What somebody has stopped, or has to look at: no fault, but not to be forgotten."""
    for queue in health.queues:
        if queue.paused:
            text = f"queue {queue.queue} is paused, {queue.waiting:,} waiting"
            yield Problem(Status.HEALTHY, text, f"resume {queue.queue}")
    if health.dead_letters:
        yield Problem(Status.HEALTHY, f"dead letters: {health.dead_letters:,}", "dlq")
