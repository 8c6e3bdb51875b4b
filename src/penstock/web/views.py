"""What is told of a job to the one who asks."""

from __future__ import annotations

from typing import Any

from penstock.model.access import Principal, Scope
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record, summary
from penstock.model.states import State
from penstock.model.values import readable
from penstock.web.keys import shown_key
from penstock.web.refusals import Refusal
from penstock.web.shapes.dead import DeadView
from penstock.web.shapes.jobs import JobView

_TO_COME = (State.WAITING, State.DELAYED)


def job_view(principal: Principal, found: Job | Record) -> JobView:
    """Payloads only with the scope for them; results also of one's own jobs."""
    job = found if isinstance(found, Job) else None
    record = Record.of(found) if isinstance(found, Job) else found
    private: dict[str, Any] = {}
    if principal.may(Scope.PAYLOAD):
        private["payload"] = readable(record.payload_json)
    if principal.may(Scope.PAYLOAD) or principal.owns(record.owner):
        private["result"] = readable(record.result_json)
    return JobView(
        job_id=record.id,
        queue=record.queue_name,
        task=record.job_type,
        status=record.status,
        state=job.state if job else None,
        attempts_made=record.attempts_made,
        max_attempts=record.max_attempts,
        created_at=record.created_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        updated_at=record.updated_at,
        next_attempt_at=job.due_at if job and job.state in _TO_COME else None,
        progress=job.progress if job else None,
        error=record.error_message,
        owner=record.owner,
        key=shown_key(principal, record.idempotency_key, record.id),
        tags=list(job.tags) if job else [],
        recovered_as=job.recovered_as if job else None,
        **private,
    )


def dead_view(principal: Principal, letter: DeadLetter) -> DeadView:
    """As of a job."""
    error = letter.error or {}
    private: dict[str, Any] = {}
    if principal.may(Scope.PAYLOAD):
        private = {"payload": readable(letter.args_json), "traceback": error.get("traceback")}
    return DeadView(
        job_id=letter.job_id,
        queue=letter.queue,
        task=letter.task,
        reason=letter.reason,
        error=summary(error) if error else None,
        code=error.get("code"),
        attempts=letter.attempts,
        max_attempts=letter.max_attempts,
        first_started_at=letter.first_started_at,
        ran_for=letter.ran_for,
        failed_at=letter.failed_at,
        recovered_at=letter.recovered_at,
        recovered_as=letter.recovered_as,
        owner=letter.owner,
        key=shown_key(principal, letter.key, letter.job_id),
        **private,
    )


def owner_filter(principal: Principal, asked: str | None) -> str | None:
    """Whose jobs to list; None: everybody's."""
    if principal.sees_all:
        return asked
    if asked not in (None, principal.owner):
        raise Refusal(403, "forbidden", "a token sees the jobs of its owner only")
    return principal.owner
