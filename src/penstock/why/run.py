"""A job that runs, or has ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.engine import WorkerInfo
from penstock.model.job import Job
from penstock.model.record import Record
from penstock.model.spans import moment, span
from penstock.model.states import State, Status
from penstock.why.causes import Because, Cause
from penstock.why.scene import Scene

LATE = 10.0  # seconds past its timeout that a run may need to be ended


def running(scene: Scene) -> Iterator[Cause]:
    """Where it runs and since when; first what is wrong with that."""
    worker = scene.worker(scene.job.worker)
    if worker is None or not worker.alive:
        yield _lost(scene, worker)
        return
    ran_for = _ran_for(scene)
    if scene.job.cancel_requested:
        yield Cause(
            because=Because.STOPPING,
            text=f"It was asked to stop; worker {worker.name} is told by its next heartbeat, in 2 s at most.",
            next=f"job {scene.job.id}",
        )
    timeout = scene.known.timeout
    if timeout is not None and ran_for > timeout + LATE:
        yield Cause(
            because=Because.OVERDUE,
            text=f"Its timeout of {span(timeout)} passed {span(ran_for - timeout)} ago: worker {worker.name} "
            "beats, but does not end the run. A handler may block its event loop.",
            next=f"cancel {scene.job.id}",
        )
    yield _runs(scene, worker, ran_for)


def _runs(scene: Scene, worker: WorkerInfo, ran_for: float) -> Cause:
    job = scene.job
    text = f"It has been running for {span(ran_for)} on worker {worker.name}, attempt {job.attempt} of "
    text += f"{job.max_attempts}{_progress(job)}."
    if worker.active > worker.slots:
        text += f" The worker holds {worker.active} jobs for {worker.slots} slots: it may not have begun."
    if scene.known.timeout is not None:
        text += f" Its timeout is {span(scene.known.timeout)}."
    return Cause(because=Because.RUNNING, text=text, next=f"job {job.id}")


def _progress(job: Job) -> str:
    if job.progress is None:
        return ""
    return f", {job.progress.get('percent', 0):g} % {job.progress.get('message') or ''}".rstrip()


def _lost(scene: Scene, worker: WorkerInfo | None) -> Cause:
    name = worker.name if worker else scene.job.worker
    since = ""
    if worker is not None and worker.expires_at is not None:
        since = f" {span((scene.now - worker.expires_at).total_seconds())} ago"
    others = any(found.alive for found in scene.workers)
    told = f"Its worker {name} was lost{since}: the lease is over. "
    if others:
        told += "Another worker rescues the job within seconds, and it runs again."
    else:
        told += "No other worker is alive to rescue it: start one, and it runs again."
    return Cause(because=Because.WORKER_LOST, text=told, next="workers" if others else "worker")


def _ran_for(scene: Scene) -> float:
    since = scene.job.claimed_at
    return 0.0 if since is None else (scene.now - since).total_seconds()


def ended(scene: Scene) -> Cause:
    """How it ended, and how it could be run again."""
    job = scene.job
    at = moment(job.finished_at, scene.now) if job.finished_at else "an unknown time"
    if job.state is State.COMPLETED:
        note = f" ({job.note})" if job.note else ""
        text = f"It completed at {at}, after {span(job.ran_for)} of work{note}."
        return Cause(because=Because.COMPLETED, text=text, next=f"job {job.id}")
    if job.state is State.CANCELLED:
        text = f"It was cancelled at {at}: {job.note or 'no reason was given'}."
        return Cause(because=Because.CANCELLED, text=text, next=f"job {job.id}")
    return _failed(scene, at)


def _failed(scene: Scene, at: str) -> Cause:
    job, letter = scene.job, scene.letter
    error = job.errors[-1] if job.errors else None
    said = f", with {error.get('type')}: {error.get('message')}" if error else ""
    reason = letter.reason if letter else job.note
    text = f"It failed at {at} ({reason}), on attempt {job.attempt} of {job.max_attempts}{said}."
    if job.recovered_as is not None:
        return Cause(
            because=Because.FAILED,
            text=f"{text} It was recovered as job {job.recovered_as}.",
            next=f"why {job.recovered_as}",
            jobs=(job.recovered_as,),
        )
    if letter is None:
        return Cause(because=Because.FAILED, text=f"{text} Its dead letter has been purged.", next=None)
    return Cause(because=Because.FAILED, text=text, next=f"retry {job.id}")


def pruned(record: Record, now: datetime) -> Cause:
    """What the history has of it."""
    at = moment(record.finished_at, now) if record.finished_at else "an unknown time"
    said = f": {record.error_message}" if record.error_message else ""
    text = f"It {_ENDED[record.status]} at {at}{said}. Its own record has been pruned."
    return Cause(because=Because(record.status.value), text=text, next=f"job {record.id}")


_ENDED = {Status.COMPLETED: "completed", Status.FAILED: "failed", Status.CANCELLED: "was cancelled"}
