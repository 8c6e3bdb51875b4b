"""What a ledger keeps of a job, and what is made of it again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from penstock.engine import Settlement
from penstock.model.job import Job, NewJob
from penstock.model.lanes import is_parked
from penstock.model.outcome import Cancelled, Completed, Failed, Outcome
from penstock.model.priority import Priority
from penstock.model.record import Record, error_message, one_line, summary
from penstock.model.states import State, Status
from penstock.outbox import parcel

Values: TypeAlias = dict[str, Any]


class Line(NamedTuple):
    """A row, as `dialect.COLUMNS` reads it."""

    id: str
    queue: str
    task: str
    dispatched_as: str | None
    status: str
    args: str
    result: str | None
    error: str | None
    attempts: int
    max_attempts: int
    key: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    owner: str | None
    spec: str
    due_at: datetime
    token: str | None
    run_over: bool
    failure: str | None
    key_kind: str | None

    @property
    def ended(self) -> bool:
        return self.finished_at is not None


def written(at: datetime) -> str:
    """An instant as text that both databases read, and that sorts by time."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")


def put_values(job: NewJob, now: datetime, parent: Settlement | None = None) -> Values:
    """A job on its way in."""
    window = job.window
    held_off = window.seconds if job.unique and window.kind == "debounce" else 0.0
    until = now + timedelta(seconds=window.seconds) if job.unique and window.kind == "period" else None
    return {
        "id": job.id,
        "queue_name": job.queue,
        "job_type": job.task,
        "payload_json": job.args,
        "max_attempts": job.max_attempts,
        "idempotency_key": job.key or job.id,
        "created_at": written(now),
        "owner": job.owner,
        "spec": parcel.write([job._replace(args="{}")]),
        "due_at": written(now + timedelta(seconds=job.delay + held_off)),
        "shelf": (job.ties and job.ties.shelf) or job.queue,
        "key_held": job.unique,
        "key_kind": window.kind if job.unique else None,
        "key_until": until and written(until),
        "parent": parent and parent.id,
        "parent_token": parent and parent.token,
    }


def job_of(line: Line, now: datetime) -> NewJob:
    """The job of a row, to be put in (again) now, with the attempts that are left."""
    (job,) = parcel.read(line.spec, max(0.0, (now - line.created_at).total_seconds()))
    return job._replace(
        args=line.args,
        owner=line.owner,
        delay=max(0.0, (line.due_at - now).total_seconds()),
        max_attempts=max(1, line.max_attempts - line.attempts),
        expire_after=None if line.started_at else job.expire_after,
    )


def save_values(end: Settlement, now: datetime) -> Values:
    """How a run ended."""
    outcome = end.outcome
    again = not outcome.state.finished
    error = summary(json.loads(outcome.error)) if outcome.error else None
    failed = outcome.state is State.FAILED
    return {
        "id": end.id,
        "token": end.token,
        "status": "again" if again else outcome.state.value,
        "result": outcome.result,
        "error": error or (None if again or outcome.note is None else one_line(outcome.note)),
        "failure": json.dumps({"reason": outcome.reason, "error": outcome.error}) if failed else None,
        "refund": int(outcome.refund),
        "due_at": written(now + timedelta(seconds=outcome.delay))
        if again and not outcome.keep_place
        else None,
        "keep": end.keep,
    }


def end_values(job: Job) -> Values:
    """An end that Redis knows of."""
    return {
        "id": job.id,
        "status": job.state.value,
        "result": job.result_json,
        "error": error_message(job.state, job.errors, job.note),
        "finished_at": job.finished_at and written(job.finished_at),
        "attempt": job.attempt,
    }


def adopt_values(job: Job) -> Values:
    """A job that Redis knows of, and the ledger does not."""
    spec = NewJob(
        job.id, job.queue, job.task, key=job.key, unique=job.unique, priority=int(job.priority),
        max_attempts=job.max_attempts, options=job.options_json,
        lane=None if job.lane == job.queue or is_parked(job.lane) else job.lane,
    )  # fmt: skip
    told = Record.of(job)
    return {
        **{
            name: getattr(told, name)
            for name in ("id", "queue_name", "job_type", "payload_json", "result_json")
        },
        **{name: getattr(told, name) for name in ("error_message", "attempts_made", "max_attempts", "owner")},
        "status": told.status.value,
        "idempotency_key": told.idempotency_key,
        "created_at": written(told.created_at),
        "started_at": told.started_at and written(told.started_at),
        "finished_at": told.finished_at and written(told.finished_at),
        "spec": parcel.write([spec]),
        "due_at": written(job.due_at),
    }


def outcome_of(line: Line) -> Outcome:
    """How Redis is told that this job has ended."""
    if line.status == Status.COMPLETED:
        return Completed(line.result)
    if line.status == Status.CANCELLED:
        return Cancelled(line.error)
    told = json.loads(line.failure) if line.failure else {}
    return Failed(told.get("reason") or "failed", told.get("error"))


def record_of(line: Line) -> Record:
    return Record(
        id=line.id,
        queue_name=line.queue,
        job_type=line.task,
        bull_job_id=line.id,
        status=Status(line.status),
        payload_json=line.args,
        result_json=line.result,
        error_message=line.error,
        attempts_made=line.attempts,
        max_attempts=line.max_attempts,
        idempotency_key=line.key,
        created_at=line.created_at,
        started_at=line.started_at,
        finished_at=line.finished_at,
        updated_at=line.updated_at,
        owner=line.owner,
    )


def seen(line: Line, now: datetime) -> Job:
    """The job of a row that Redis does not have: not dispatched yet, lost there, or pruned."""
    (job,) = parcel.read(line.spec, 0.0)
    waiting = State.DELAYED if line.due_at > now else State.WAITING
    return Job(
        id=line.id,
        queue=line.queue,
        task=line.task,
        lane=job.lane or line.queue,
        state=State(line.status) if line.ended else waiting,
        args_json=line.args,
        key=line.key,
        unique=job.unique,
        priority=Priority(job.priority),
        attempt=line.attempts,
        max_attempts=line.max_attempts,
        created_at=line.created_at,
        due_at=line.due_at,
        owner=line.owner,
        options_json=job.options,
        started_at=line.started_at,
        finished_at=line.finished_at,
        result_json=line.result,
        note=line.error if line.ended else None,
        origin=job.ties.origin if job.ties else None,
    )
