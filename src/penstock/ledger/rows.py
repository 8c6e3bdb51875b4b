"""What a ledger keeps of a job, and what is made of it again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from penstock.engine import Recovery, Settlement
from penstock.model.job import DeadLetter, Job, NewJob, Ties, Window
from penstock.model.lanes import is_parked
from penstock.model.outcome import Cancelled, Completed, Failed, Outcome, Released, Retried
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
    key_held: bool
    expires_at: datetime | None
    cancel_note: str | None
    recovered_as: str | None
    worker: str | None
    attempts_before: int

    @property
    def ended(self) -> bool:
        return self.finished_at is not None

    @property
    def has_letter(self) -> bool:
        """Whether there is a dead letter of it."""
        return self.status == State.FAILED and self.failure is not None

    @property
    def debounced(self) -> bool:
        """Whether newcomers replace what it brings."""
        return self.key_held and self.key_kind == "debounce" and not self.ended

    def has_expired(self, now: datetime) -> bool:
        """Its time was over before it had begun."""
        return self.started_at is None and self.expires_at is not None and self.expires_at <= now


def written(at: datetime) -> str:
    """An instant as text that both databases read, and that sorts by time."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")


def put_values(job: NewJob, now: datetime, parent: Settlement | None = None) -> Values:
    """A job on its way in."""
    window = job.window
    held_off = window.seconds if job.unique and window.kind == "debounce" else 0.0
    until = now + timedelta(seconds=window.seconds) if job.unique and window.kind == "period" else None
    due_at = now + timedelta(seconds=job.delay + held_off)
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
        "due_at": written(due_at),
        "expires_at": _expiry(job, due_at),
        "shelf": (job.ties and job.ties.shelf) or job.queue,
        "key_held": job.unique,
        "key_kind": window.kind if job.unique else None,
        "key_until": until and written(until),
        "parent": parent and parent.id,
        "parent_token": parent and parent.token,
    }


def _expiry(job: NewJob, due_at: datetime) -> str | None:
    """Of one that waits for others it begins with the end of that."""
    if job.expire_after is None or (job.ties and job.ties.after):
        return None
    return written(due_at + timedelta(seconds=job.expire_after))


def job_of(line: Line, now: datetime) -> NewJob:
    """The job of a row, to be put in (again) now, with the attempts that are left."""
    (job,) = parcel.read(line.spec, max(0.0, (now - line.created_at).total_seconds()))
    delay = max(0.0, (line.due_at - now).total_seconds())
    return job._replace(
        id=line.id,  # what was debounced has the spec of another
        args=line.args,
        owner=line.owner,
        delay=delay,
        window=Window("debounce") if line.key_kind == "debounce" else job.window,  # in its due time already
        max_attempts=max(1, line.max_attempts - line.attempts),
        expire_after=_expires_after(line, now, delay),
    )


def _expires_after(line: Line, now: datetime, delay: float) -> float | None:
    """What is left of it; all of it where it had to wait for others first."""
    if line.started_at is not None:
        return None
    if line.expires_at is not None:
        return max(0.0, (line.expires_at - now).total_seconds() - delay)
    return parcel.read(line.spec, 0.0)[0].expire_after


def moved_values(job: Job) -> Values:
    """When the engine has it due."""
    return {
        "id": job.id,
        "due_at": written(job.due_at),
        "expires_at": job.expires_at and written(job.expires_at),
    }


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
        "failure": _failure(outcome.reason, outcome.error) if failed else None,
        "refund": int(outcome.refund),
        "due_at": written(now + timedelta(seconds=outcome.delay))
        if again and not outcome.keep_place
        else None,
        "keep": end.keep,
    }


def end_values(job: Job) -> Values:
    """An end that Redis knows of."""
    error = json.dumps(job.errors[-1]) if job.errors else None
    return {
        "id": job.id,
        "status": job.state.value,
        "result": job.result_json,
        "error": error_message(job.state, job.errors, job.note),
        "finished_at": job.finished_at and written(job.finished_at),
        "attempt": job.attempt,
        "failure": _failure(job.note, error) if job.state is State.FAILED else None,
    }


def buried_values(letter: DeadLetter) -> Values:
    """A failure that has left Redis only its dead letter."""
    error = json.dumps(letter.error) if letter.error else None
    return {
        "id": letter.job_id,
        "status": State.FAILED.value,
        "result": None,
        "error": summary(letter.error) if letter.error else letter.reason,
        "finished_at": written(letter.failed_at),
        "attempt": letter.attempts,
        "failure": _failure(letter.reason, error),
    }


def _failure(reason: str | None, error: str | None) -> str:
    return json.dumps({"reason": reason, "error": error})


def adopt_values(job: Job) -> Values:
    """A job that Redis knows of, and the ledger does not."""
    spec = NewJob(
        job.id, job.queue, job.task, key=job.key, unique=job.unique, priority=int(job.priority),
        max_attempts=job.max_attempts, options=job.options_json,
        lane=None if job.lane == job.queue or is_parked(job.lane) else job.lane,
        ties=Ties(origin=job.origin) if job.origin else None,
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
        "expires_at": job.expires_at and written(job.expires_at),
    }


def heir_of(line: Line, recovery: Recovery) -> NewJob:
    """What a failed job is recovered as, where only its row is left; the key goes over afterwards."""
    (job,) = parcel.read(line.spec, 0.0)
    return job._replace(
        id=line.recovered_as or recovery.new_id,
        args=line.args if recovery.args is None else recovery.args,
        owner=line.owner,
        unique=False,
        delay=recovery.delay,
        expire_after=None,
        ties=job.ties and job.ties._replace(after=(), deadline=None),
    )


def letter_of(line: Line) -> DeadLetter:
    """The dead letter of a failed job, where only its row is left."""
    (job,) = parcel.read(line.spec, 0.0)
    assert line.failure is not None
    assert line.finished_at is not None
    told = json.loads(line.failure)
    return DeadLetter(
        job_id=line.id,
        queue=line.queue,
        task=line.task,
        args_json=line.args,
        key=line.key,
        unique=job.unique,
        priority=Priority(job.priority),
        max_attempts=line.max_attempts,
        owner=line.owner,
        options_json=job.options,
        reason=told.get("reason") or "failed",
        error=json.loads(told["error"]) if told.get("error") else None,
        attempts=line.attempts,
        first_started_at=line.started_at,
        ran_for=0.0,
        failed_at=line.finished_at,
        recovered_as=line.recovered_as,
    )


def outcome_of(line: Line) -> Outcome:
    """How Redis is told that this job has ended."""
    if line.status == Status.COMPLETED:
        return Completed(line.result)
    if line.status == Status.CANCELLED:
        return Cancelled(line.error)
    told = json.loads(line.failure) if line.failure else {}
    return Failed(told.get("reason") or "failed", told.get("error"))


def outcome_again(line: Line, attempt: int, now: datetime) -> Outcome:
    """How Redis is told that a run is over and another is to come; `attempt` is what it counts there."""
    if line.status == Status.PENDING:
        return Released()
    delay = max(0.0, (line.due_at - now).total_seconds())
    return Retried(delay, None, refund=line.attempts_before + attempt > line.attempts)


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
        expires_at=line.expires_at,
        started_at=line.started_at,
        finished_at=line.finished_at,
        result_json=line.result,
        note=line.error if line.ended else None,
        origin=job.ties.origin if job.ties else None,
    )
