"""From what was seen to why: pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from penstock.engine import Order, WorkerInfo
from penstock.model.job import Job
from penstock.model.lanes import misfits_of
from penstock.model.outcome import UNKNOWN_TASK
from penstock.model.record import Record
from penstock.model.spans import moment, span
from penstock.model.states import State
from penstock.why.blocked import blocked
from penstock.why.causes import Because, Cause, Explanation
from penstock.why.held import held
from penstock.why.run import ended, pruned, running
from penstock.why.scene import Scene

UNCLAIMED_AFTER = 30.0  # seconds: so long nothing waits that workers look for
MOST_SAID = 300  # characters of an error or a note


def explain(scene: Scene) -> Explanation:
    """Every cause that holds, the decisive one first."""
    return _explanation(scene.job, scene.now, *_causes(scene))


def explain_away(job: Job, error: str, now: datetime) -> Explanation:
    """The same where only the ledger can be asked: the engine is away."""
    text = f"The engine cannot be reached ({error}). The job is kept, and goes on when the engine is back."
    return _explanation(job, now, Cause(because=Because.ENGINE_AWAY, text=text, next="doctor"))


def _explanation(job: Job, now: datetime, *causes: Cause) -> Explanation:
    return Explanation(
        job_id=job.id, task=job.task, queue=job.queue, state=job.state.value, at=now, causes=causes
    )


def explain_record(record: Record, now: datetime) -> Explanation:
    """The same for a job that has been pruned, by what the history has of it."""
    return Explanation(
        job_id=record.id,
        task=record.job_type,
        queue=record.queue_name,
        state=record.status.value,
        at=now,
        causes=(pruned(record, now),),
    )


def _causes(scene: Scene) -> Iterator[Cause]:
    state = scene.job.state
    if state.finished:
        yield ended(scene)
    elif state is State.ACTIVE:
        yield from running(scene)
    elif state is State.BLOCKED:
        yield from blocked(scene)
        yield from _not_taken(scene)
    elif state is State.DELAYED:
        yield from _delayed(scene)
    else:
        yield from _waiting(scene)


def _waiting(scene: Scene) -> Iterator[Cause]:
    causes = [*_parked(scene), *_not_taken(scene), *held(scene)]
    yield from causes
    if not causes:
        yield _next(scene)


def _parked(scene: Scene) -> Iterator[Cause]:
    job, known = scene.job, scene.known
    if not job.parked:
        return
    note = _short(job.note)
    misfits = misfits_of(job.lane)
    if known.closed:
        return  # told with what else keeps everybody from taking it
    if misfits:
        still = known.signature in misfits
        yield Cause(
            because=Because.MISFIT,
            text=f"It is parked: {note}. "
            + ("The code here does not fit it either: give new arguments a default, and deploy." if still else
               "The code here has another signature: workers that run it take the job by themselves."),
            next="tasks" if still else "workers",
        )  # fmt: skip
    elif (job.note or "").startswith(UNKNOWN_TASK):
        here = (
            "The code here knows it: restart the workers with it, and they take the job by themselves."
            if known.task
            else "The code here does not know it either: deploy workers with the code that has it."
        )
        yield Cause(
            because=Because.UNKNOWN_TASK,
            text=f"It is parked: {note}. {here}",
            next="workers" if known.task else "tasks",
        )
    else:
        yield Cause(
            because=Because.SWITCHED_OFF,
            text=f"It is parked: {note}. Here it is switched on: a worker where it is, too, takes the job.",
            next="workers",
        )


def _not_taken(scene: Scene) -> Iterator[Cause]:
    """What keeps every worker from taking it, whatever its turn."""
    job = scene.job
    if scene.known.closed:
        yield Cause(
            because=Because.SWITCHED_OFF,
            text=f"{scene.known.closed}: its jobs are kept, and run when it is switched on (enabled=).",
            next="tasks",
        )
    if scene.paused:
        yield Cause(
            because=Because.PAUSED,
            text=f"Queue {job.queue!r} is paused: nothing of it starts until it is resumed.",
            next=f"resume {job.queue}",
        )
    if not scene.serving:
        yield _no_worker(scene)


def _no_worker(scene: Scene) -> Cause:
    queue = scene.job.queue
    alive = [worker for worker in scene.workers if worker.alive]
    quiet = [worker for worker in alive if queue in worker.queues]
    if quiet:
        return _quiet(queue, quiet)
    lost = [worker for worker in scene.workers if not worker.alive and queue in worker.queues]
    if alive:
        served = ", ".join(sorted({name for worker in alive for name in worker.queues}))
        text = f"No live worker takes jobs from queue {queue!r}; those there are take: {served}."
    elif lost:
        last = max(lost, key=lambda worker: worker.expires_at or scene.now)
        since = f" {span((scene.now - last.expires_at).total_seconds())} ago" if last.expires_at else ""
        text = f"No worker is alive: the last one, {last.name}, was lost{since}."
    else:
        text = "No worker is running."
    return Cause(because=Because.NO_WORKER, text=text, next=f"worker --queue {queue}" if alive else "worker")


def _quiet(queue: str, workers: Sequence[WorkerInfo]) -> Cause:
    """Those that serve it were told to claim nothing."""
    names = ", ".join(worker.name for worker in workers)
    text = f"Nobody takes jobs from queue {queue!r}: told to claim nothing more: {names}."
    only_quiet = [worker.id for worker in workers if worker.order is Order.QUIET]
    return Cause(
        because=Because.NO_WORKER,
        text=text,
        next=f"workers resume {only_quiet[0]}" if only_quiet else f"worker --queue {queue}",
    )


def _delayed(scene: Scene) -> Iterator[Cause]:
    own, others = _not_due(scene), list(_not_taken(scene))
    due = scene.job.due_at <= scene.now
    yield from [*others, own] if due else [own, *others]


def _not_due(scene: Scene) -> Cause:
    job, now = scene.job, scene.now
    when = moment(job.due_at, now)
    said = _short(job.note)
    if job.due_at <= now:
        text = f"It was due at {when}: a worker that serves any queue brings it in line within seconds."
        return Cause(because=Because.DELAYED, text=text, next="workers")
    if job.note:
        text = f"Its last run asked to run later ({said}): it is due at {when}."
        because = Because.SNOOZED
    elif job.errors:
        error = job.errors[-1]
        what = _short(f"{error.get('type')}: {error.get('message')}")
        tried = f"Attempt {error.get('attempt', job.attempt)} of {job.max_attempts} failed ({what})"
        text = f"{tried}: it is tried again at {when}."
        because = Because.RETRY
    else:
        text, because = f"It is delayed: due at {when}.", Because.DELAYED
    return Cause(because=because, text=text, next=f"retry {job.id}", until=job.due_at)


def _next(scene: Scene) -> Cause:
    job, waited = scene.job, (scene.now - scene.job.due_at).total_seconds()
    if waited < UNCLAIMED_AFTER:
        text = "Nothing holds it back: a worker with a free slot serves its queue and takes it in a moment."
        return Cause(because=Because.NEXT, text=text, next=f"job {job.id}")
    text = (
        f"Nothing is known that holds it back now, though it has been due for {span(waited)}. Where that "
        f"stays so, the workers that serve queue {job.queue!r} beat, but take no jobs: look at their logs."
    )
    return Cause(because=Because.UNCLAIMED, text=text, next="health")


def _short(text: str | None) -> str:
    text = " ".join((text or "").split())
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"
