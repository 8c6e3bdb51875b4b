"""What is used up that a waiting job needs: limits, breakers, places in workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from penstock.engine import LimitState
from penstock.model.breaker import BreakerState, Circuit
from penstock.model.job import Job
from penstock.model.lanes import group_of, is_limited, key_of, queue_of
from penstock.model.limits import Limit, in_words
from penstock.model.spans import moment, span
from penstock.why.causes import Because, Cause
from penstock.why.scene import Scene

HOLDERS_NAMED = 3


def held(scene: Scene) -> Iterator[Cause]:
    """Breakers, cooldowns, rates, concurrency, and then whoever else wants the workers."""
    for state in scene.breakers.values():
        yield from _breaker(scene, state)
    timed = [cause for limit in scene.limits for cause in _times(scene, limit)]
    yield from sorted(timed, key=lambda cause: cause.until or scene.now, reverse=True)
    for limit in scene.limits:
        yield from _places(scene, limit)
    if scene.serving:
        yield from _busy(scene)
    yield from _behind(scene)


def _breaker(scene: Scene, state: BreakerState) -> Iterator[Cause]:
    name = state.breaker.name
    since = f" since {moment(state.since, scene.now)}" if state.since else ""
    if state.circuit is Circuit.OPEN:
        until = scene.now + timedelta(seconds=state.retry_in or 0.0)
        yield Cause(
            because=Because.BREAKER_OPEN,
            text=f"Breaker {name!r} is open{since}: its jobs are held until it is tried again, "
            f"{moment(until, scene.now)}.",
            next=f"breakers close {name}",
            until=until,
        )
    elif state.circuit is Circuit.HALF_OPEN and state.probing >= state.breaker.probes:
        yield Cause(
            because=Because.BREAKER_PROBED,
            text=f"Breaker {name!r} is half-open{since}: {state.probing} of {state.breaker.probes} probes "
            "run; one that succeeds lets all its jobs go.",
            next=f"breakers close {name}",
        )


def _times(scene: Scene, state: LimitState) -> Iterator[Cause]:
    what = _what(state.of)
    if state.cooled_for:
        until = scene.now + timedelta(seconds=state.cooled_for)
        yield Cause(
            because=Because.COOLDOWN,
            text=f"{what} cools down, after a run was told to come back later (RateLimited): nothing of it "
            f"starts until {moment(until, scene.now)}.",
            next=_limits(state),
            until=until,
        )
    if state.spent_for:
        until = scene.now + timedelta(seconds=state.spent_for)
        rate = in_words(Limit(state.limit.rate, state.limit.burst))
        yield Cause(
            because=Because.RATE,
            text=f"{what} is limited to {rate}: the next may start at {moment(until, scene.now)}.",
            next=_limits(state),
            until=until,
        )


def _places(scene: Scene, state: LimitState) -> Iterator[Cause]:
    most = state.limit.concurrency
    if most is None or state.active < most:
        return
    holders = _oldest([job for job in scene.running if _under(job, state.of)])
    by = f": {_named(scene, holders, state.active)}" if holders else ""
    bound = f"{_what(state.of)} runs at most {most:,} at once, over all workers"
    yield Cause(
        because=Because.CONCURRENCY,
        text=f"{bound}, and {state.active:,} run{by}.",
        next=f"why {holders[0].id}" if holders else _limits(state),
        jobs=tuple(job.id for job in holders),
    )


def _busy(scene: Scene) -> Iterator[Cause]:
    serving = scene.serving
    if all(worker.active >= worker.slots for worker in serving):
        slots = sum(worker.slots for worker in serving)
        whose = f"{len(serving)} workers that serve" if len(serving) > 1 else "one worker that serves"
        yield Cause(
            because=Because.BUSY,
            text=f"All {slots:,} slots of the {whose} queue {scene.job.queue!r} are taken.",
            next="top",
        )
    elif _full_of_its_queue(scene):
        most = scene.known.per_worker
        yield Cause(
            because=Because.BUSY,
            text=f"Each worker runs at most {most:,} of queue {scene.job.queue!r} at once (concurrency=), "
            "and all of them do.",
            next="top",
        )


def _full_of_its_queue(scene: Scene) -> bool:
    most = scene.known.per_worker
    if most is None:
        return False
    held = [job.worker for job in scene.running]
    return all(held.count(worker.id) >= most for worker in scene.serving)


def _behind(scene: Scene) -> Iterator[Cause]:
    standing = scene.standing
    if standing is None or not standing.ahead or scene.job.parked:
        return
    many = f"More than {standing.ahead:,} jobs" if standing.more else f"{standing.ahead:,} jobs"
    if standing.ahead == 1 and not standing.more:
        many = "1 job"
    lane = "" if scene.job.lane == scene.job.queue else f" of lane {scene.job.lane!r}"
    verb = "is" if many == "1 job" else "are"
    yield Cause(
        because=Because.BEHIND,
        text=f"{many}{lane} {verb} taken before it: those that were due earlier, or have a higher priority.",
        next="top",
    )


def _what(of: str) -> str:
    if not is_limited(of):
        return f"Queue {of!r}"
    task, key = group_of(of).partition(">")[2], key_of(of)
    owner = f"task {task!r}" if task else f"queue {queue_of(of)!r}"
    if key is not None:
        return f"Key {key!r} of {owner}"
    return owner[0].upper() + owner[1:]


def _limits(state: LimitState) -> str:
    return f"limits '{group_of(state.of)}'" if key_of(state.of) is not None else "limits"


def _under(job: Job, of: str) -> bool:
    return of in (job.lane, group_of(job.lane), job.queue)


def _oldest(jobs: Sequence[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: (job.claimed_at or job.created_at, job.id))


def _named(scene: Scene, holders: Sequence[Job], active: int) -> str:
    told = []
    for job in holders[:HOLDERS_NAMED]:
        worker = scene.worker(job.worker)
        for_ = f" for {span((scene.now - job.claimed_at).total_seconds())}" if job.claimed_at else ""
        told.append(f"{job.id} on {worker.name if worker else job.worker}{for_}")
    more = active - len(told)
    return "; ".join(told) + (f"; and {more:,} more" if more > 0 else "")
