"""Looking around a job: few reads, all bounded."""

from __future__ import annotations

from datetime import datetime

from penstock.engine import Engine, JobFilter, ScheduleRow
from penstock.model.errors import InvalidValue
from penstock.model.job import Job
from penstock.model.schedule import tick_id
from penstock.model.states import State
from penstock.tasks.registry import Registry
from penstock.tasks.spec import read_spec
from penstock.why.scene import Known, Scene, Upstream

RUNNING_SEEN = 200  # active jobs of the queue
UPSTREAMS_SEEN = 20
AHEAD_COUNTED = 1_000
TICKS_BACK = 20  # among which that of an upstream is looked for
LOOKS = 3  # in all, where the job changes meanwhile


async def gather(engine: Engine, registry: Registry, job: Job) -> Scene:
    """The job and what is around it; looked at anew where the job has moved on meanwhile."""
    for _ in range(LOOKS):
        scene = await _look(engine, registry, job)
        again = await engine.get(job.id)
        if again is None or (again.state, again.lane) == (job.state, job.lane):
            break
        job = again
    return scene


async def _look(engine: Engine, registry: Registry, job: Job) -> Scene:
    now = (await engine.due_schedules(0)).now
    known = _known(registry, job)
    if job.state.finished:
        letter = await engine.dead_letter(job.id) if job.state is State.FAILED else None
        return Scene(now=now, job=job, known=known, letter=letter)
    workers = tuple(await engine.workers())
    paused = any(state.paused for state in await engine.queues() if state.queue == job.queue)
    if job.state is State.ACTIVE:
        return Scene(now=now, job=job, known=known, workers=workers, paused=paused)
    limits = tuple(await engine.limits_of(job.lane))
    needed = {name for limit in limits for name in limit.needs}
    breakers = {s.breaker.name: s for s in await engine.breakers()} if needed else {}
    active = JobFilter(queue=job.queue, state=State.ACTIVE, payloads=False)
    return Scene(
        now=now,
        job=job,
        known=known,
        paused=paused,
        workers=workers,
        running=tuple(await engine.jobs(active, RUNNING_SEEN)),
        limits=limits,
        breakers={name: breakers[name] for name in needed if name in breakers},
        upstreams=await _upstreams(engine, job),
        standing=await engine.standing(job.id, AHEAD_COUNTED),
    )


def _known(registry: Registry, job: Job) -> Known:
    queue = registry.queues.get(job.queue)
    per_worker = None if queue is None else queue.concurrency
    task = registry.get(job.task)
    if task is None:
        return Known(per_worker=per_worker)
    try:
        timeout = task.timeout_for(job.options_json)
    except InvalidValue:  # another release wrote its options
        timeout = task.timeout
    return Known(
        task=True,
        signature=task.fingerprint,
        closed=task.closed(),
        timeout=timeout,
        per_worker=per_worker,
    )


async def _upstreams(engine: Engine, job: Job) -> tuple[Upstream, ...]:
    if not job.blocked_by:
        return ()
    seen = job.blocked_by[:UPSTREAMS_SEEN]
    found = {job_id: await engine.get(job_id) for job_id in seen}
    schedules = [] if all(found.values()) else await engine.schedules()
    return tuple(
        Upstream(id=job_id, job=found[job_id]) if found[job_id] else _tick(job_id, schedules, job.created_at)
        for job_id in seen
    )


def _tick(job_id: str, schedules: list[ScheduleRow], by: datetime) -> Upstream:
    """Which schedule's tick makes the job of this id: ids of ticks are made of the schedule and the time."""
    for row in schedules:
        try:
            ticks = read_spec(row.spec).timing.latest(by, TICKS_BACK)
        except InvalidValue:
            continue
        for due in reversed(ticks):
            if tick_id(row.id, due) == job_id:
                return Upstream(
                    id=job_id,
                    schedule=row.id,
                    due=due,
                    schedule_paused=row.paused,
                    schedule_next=row.next_at,
                )
    return Upstream(id=job_id)
