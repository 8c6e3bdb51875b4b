"""What happens to jobs, in the log: the logger `penstock.jobs`, one record per event. Never the arguments."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

from penstock.engine import Expired
from penstock.logs import JOBS, headline, instant, one_line
from penstock.model.failure import HANDLING, FailureClass, shorten
from penstock.model.job import Claim, Enqueued, Held, NewJob
from penstock.model.outcome import Outcome, Released
from penstock.model.states import State, Status, status_of
from penstock.model.values import readable

log = logging.getLogger(JOBS)

MAX_ERROR = 500  # characters; the job's own record has more

_EVENTS = {State.COMPLETED: "completed", State.FAILED: "failed", State.CANCELLED: "cancelled"}


def are_told() -> bool:
    """Whether anybody is told of what goes well."""
    return log.isEnabledFor(logging.INFO)


def added(jobs: Sequence[NewJob], answers: Sequence[Enqueued], *, lent: bool = False) -> None:
    """Jobs were put in; those whose key was taken are not told of. `lent`: if the transaction commits."""
    if not log.isEnabledFor(logging.INFO):
        return
    metadata = {"in_transaction": True} if lent else {}
    for job, answer in zip(jobs, answers, strict=True):
        if not answer.duplicate:
            put_in(job, **metadata)


def followed(claim: Claim, jobs: Sequence[NewJob]) -> None:
    """Jobs were put in with the end of a run."""
    for job in jobs:
        put_in(job, follows=claim.id)


def put_in(job: NewJob, **metadata: Any) -> None:
    """One job was put in."""
    if not log.isEnabledFor(logging.INFO):
        return
    if job.delay > 0:
        metadata["delay_s"] = job.delay
    fields = {"status": Status.PENDING, "max_attempts": job.max_attempts, "metadata": metadata}
    _tell(logging.INFO, "added", job.queue, job.task, job.id, fields)


def started(claim: Claim) -> None:
    """A handler begins."""
    if not log.isEnabledFor(logging.INFO):
        return
    before = Status.PENDING if claim.attempt == 1 else Status.PROCESSING
    fields = _run(claim) | {"previous_status": before, "status": Status.PROCESSING}
    _tell(logging.INFO, "started", claim.queue, claim.task, claim.id, fields | {"started_at": _now()})


def progress(claim: Claim, text: str) -> None:
    """A handler told how far it is: JSON text, as it is stored."""
    if log.isEnabledFor(logging.INFO):
        fields = _run(claim) | {"status": Status.PROCESSING, "metadata": readable(text)}
        _tell(logging.INFO, "progress", claim.queue, claim.task, claim.id, fields)


def ended(claim: Claim | Held, outcome: Outcome, ran_for: float | None, at: float) -> None:
    """A run ended at that moment, and its end is written. None: nobody knows how long it took."""
    level = _level(outcome)
    if not log.isEnabledFor(level) or (isinstance(outcome, Released) and outcome.error is None):
        return  # a run that was handed back is as if it had not been
    fields = _run(claim) | {
        "previous_status": Status.PROCESSING,
        "status": Status(outcome.state.value) if outcome.state.finished else Status.PROCESSING,
        "finished_at": instant(at),
    }
    if ran_for is not None:
        fields |= {"started_at": instant(at - ran_for), "duration_ms": round(ran_for * 1_000, 3)}
    fields |= {} if outcome.error is None else _failure(outcome.error)
    if metadata := _metadata(outcome):
        fields["metadata"] = metadata
    event = _EVENTS.get(outcome.state, "retrying")
    _tell(level, event, claim.queue, claim.task, claim.id, fields, _details(claim, outcome, fields))


def expired(job: Expired) -> None:
    """A job's time passed before it began, and it is over."""
    if not job.state.finished:
        return
    level = logging.ERROR if job.state is State.FAILED else logging.WARNING
    why = "the jobs for which it waits had not ended by its deadline" if job.missed else "its expiry passed"
    event = _EVENTS[job.state]
    fields = {"previous_status": Status.PENDING, "status": status_of(job.state, started=False)}
    _tell(level, event, job.queue, job.task, job.id, fields | {"metadata": {"reason": why}}, f": {why}")


def _level(outcome: Outcome) -> int:
    if outcome.state is State.FAILED:
        return logging.ERROR
    return logging.INFO if outcome.error is None else logging.WARNING


def _run(claim: Claim | Held) -> dict[str, Any]:
    return {"attempt": claim.attempt, "max_attempts": claim.max_attempts}


def _failure(error: str) -> dict[str, Any]:
    """What an error record tells: the type and the message, the code, and how loud to be about it."""
    record = json.loads(error)
    message = " ".join(record["message"].split())
    found = record.get("class") or FailureClass.TRANSIENT
    return {
        "error": shorten(f"{record['type']}: {message}", MAX_ERROR),
        "error_code": record.get("code"),
        "alert_level": HANDLING[FailureClass(found)].alert.value,
    }


def _metadata(outcome: Outcome) -> dict[str, Any]:
    if outcome.state is State.FAILED:
        return {"reason": outcome.reason}
    if outcome.state.finished:
        return {} if outcome.note is None else {"note": outcome.note}
    told: dict[str, Any] = {"retry_in_s": round(outcome.delay, 3)}
    return told | {"alone": True} if outcome.suspect else told


def _details(claim: Claim | Held, outcome: Outcome, fields: dict[str, Any]) -> str:
    """For people: why, and what happens next."""
    if outcome.error is None:
        return ""
    return f": attempt {claim.attempt} of {claim.max_attempts}: {fields['error']}; {_next(outcome)}"


def _next(outcome: Outcome) -> str:
    if outcome.state is State.FAILED:
        return f"dead-lettered ({outcome.reason})"
    if outcome.suspect:
        return "runs again, alone in a process"
    counted = " (it was a probe of a breaker: not counted)" if outcome.refund else ""
    return f"retry in {outcome.delay:.1f} s{counted}"


def _now() -> str:
    return instant(time.time())


def _tell(
    level: int, event: str, queue: str, task: str, job_id: str, fields: dict[str, Any], details: str = ""
) -> None:
    named = {"event": event, "queue": queue, "job_id": job_id, "job_name": task}
    text = headline(queue, task, job_id, event) + one_line(details)
    log.log(level, "%s", text, extra=named | fields)
