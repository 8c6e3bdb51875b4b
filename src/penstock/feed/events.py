"""The events of a job's life, and what each tells. Never the payload, the result, or the text of an error."""

from __future__ import annotations

import json
from typing import Any

from penstock.engine import Expired, JobEvent
from penstock.model.job import Claim, Held, Job, NewJob
from penstock.model.outcome import UPSTREAM_MISSING, Outcome
from penstock.model.states import State

ADDED = "added"
STARTED = "started"
PROGRESS = "progress"
COMPLETED = "completed"
FAILED = "failed"
RETRYING = "retrying"
CANCELLED = "cancelled"

NAMES = (ADDED, STARTED, PROGRESS, COMPLETED, FAILED, RETRYING, CANCELLED)
FINAL = frozenset({COMPLETED, FAILED, CANCELLED})

_BY_VERB = {
    "complete": COMPLETED,
    "fail": FAILED,
    "retry": RETRYING,
    "snooze": RETRYING,
    "cancel": CANCELLED,
}
_OF_ERROR = ("type", "code", "class")


def added(job: NewJob) -> JobEvent:
    return JobEvent(ADDED, job.id, job.queue, job.task, job.owner, _body(delay=job.delay or None))


def started(claim: Claim) -> JobEvent:
    return _of(claim, STARTED, _body(attempt=claim.attempt, max_attempts=claim.max_attempts))


def progress(claim: Claim, text: str) -> JobEvent:
    """`text` is JSON, as it is stored."""
    return _of(claim, PROGRESS, text)


def ended(claim: Claim, outcome: Outcome, ran_for: float) -> JobEvent | None:
    """How a run ended; None where the job goes back as if it had not run."""
    name = _BY_VERB.get(outcome.verb)
    if name is None:
        return None
    body = _body(
        attempt=claim.attempt,
        max_attempts=claim.max_attempts,
        ran_for=round(ran_for, 3),
        next_in=outcome.delay if name == RETRYING else None,
        snoozed=True if outcome.verb == "snooze" else None,
        reason=outcome.reason,
        error=_summary(outcome.error),
    )
    return _of(claim, name, body)


def taken_back(held: Held, outcome: Outcome, owner: str | None) -> JobEvent | None:
    """What became of a run whose worker is gone; None where it had not begun."""
    name = _BY_VERB.get(outcome.verb, RETRYING)
    if name == RETRYING and outcome.error is None:
        return None
    body = _body(
        attempt=held.attempt,
        max_attempts=held.max_attempts,
        next_in=outcome.delay if name == RETRYING else None,
        rescued=True,
        reason=outcome.reason,
        error=_summary(outcome.error),
    )
    return JobEvent(name, held.id, held.queue, held.task, owner, body)


def expired(job: Expired) -> JobEvent | None:
    """Its time has passed before it began; None where that lets it begin."""
    if not job.state.finished:
        return None
    name = FAILED if job.state is State.FAILED else CANCELLED
    reason = UPSTREAM_MISSING if job.missed else "expired"
    return JobEvent(name, job.id, job.queue, job.task, job.owner, _body(reason=reason))


def cancelled(job: Job) -> JobEvent:
    """Somebody has cancelled it before it began."""
    return JobEvent(CANCELLED, job.id, job.queue, job.task, job.owner, _body(attempt=job.attempt or None))


def _of(claim: Claim, name: str, body: str) -> JobEvent:
    return JobEvent(name, claim.id, claim.queue, claim.task, claim.owner, body)


def _summary(error: str | None) -> dict[str, Any] | None:
    """What kind of error it was. Its message may be for the operators only."""
    if error is None:
        return None
    record = json.loads(error)
    return {name: record[name] for name in _OF_ERROR if record.get(name) is not None}


def _body(**fields: Any) -> str:
    return json.dumps({name: value for name, value in fields.items() if value is not None})
