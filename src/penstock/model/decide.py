"""The one place where the end of a run becomes an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.model.causes import causes_of
from penstock.model.errors import MAX_SECONDS, NoOp, RateLimited, Snooze, Unrecoverable
from penstock.model.failure import (
    Classifier,
    Failure,
    FailureClass,
    classify,
    code_of,
    described,
    message_of,
    traceback_of,
    type_of,
)
from penstock.model.job import Held
from penstock.model.outcome import (
    COMPLETED,
    Cancelled,
    Completed,
    Failed,
    Outcome,
    Park,
    Released,
    Retried,
    Snoozed,
    error_record,
)
from penstock.model.redaction import Clean, redacted
from penstock.model.retry import Retry

CRASH_LIMIT = 3  # crashes while alone that make a dead letter
RESCUE_LIMIT = 20  # lost workers that make a dead letter: nothing loops for ever


_DROPPED = "result dropped"  # how the note of a completed job begins that has no result for that reason
_NO_OP = "no-op"


class Facts(NamedTuple):
    """What `decide` must know of the job and of the run that ended."""

    attempt: int
    max_attempts: int
    crashes: int
    ran_for: float
    worker: str
    chance: float  # in [0, 1): the jitter
    probe: bool = False  # it was let through to try a half-open breaker
    log: tuple[dict[str, str], ...] = ()  # what the run has logged


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned; `result` is JSON text, `dropped` says why there is none."""

    result: str | None = None
    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The run is settled already: it completed in the handler's own transaction."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The handler found nothing to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class Deferred:
    """The handler asked to run later."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process in which the job ran alone is gone."""

    how: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The process in which the job ran is gone together with others: it need not be the job's doing."""

    how: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run was ended from outside: by a person's cancel, or by shutdown."""

    cancelled: bool


@dataclass(frozen=True, slots=True)
class Unfit:
    """The job could not be started here: its task is unknown, or its payload does not fit."""

    park: Park


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The job was found in another lane than the one with its limits: declared since, or no longer parked."""

    lane: str


End: TypeAlias = (
    Returned | Committed | Skipped | Deferred | Failure | Crashed | Lost | Stopped | Unfit | Misplaced
)

# Of a service these say nothing: the job itself was wrong, or the service is well and busy.
_NOT_THE_SERVICE = (FailureClass.INVALID_INPUT, FailureClass.LOGIC_ERROR, FailureClass.RATE_LIMIT)


def was_dropped(note: str | None) -> bool:
    """Whether a completed job has returned something that could not be kept."""
    return (note or "").startswith(_DROPPED)


def had_none(note: str | None) -> bool:
    """Whether a completed job found nothing to do, and so has returned nothing."""
    return (note or "").startswith(_NO_OP)


def end_of(
    error: BaseException, policy: Retry, rule: Classifier | None = None, clean: Clean = redacted
) -> End:
    """Turn what a handler raised into plain data without secrets, where the exception still lives."""
    # Exceptions bring code of their own: properties, other constructors. Whatever it does, the run has ended.
    try:
        return _end_of(error, policy, rule, clean)
    except BaseException as second:  # noqa: BLE001
        note = f"what it means could not be told: {described(second, clean)}"
        return Failure(type_of(error), message_of(error, clean), note=note)


def _end_of(error: BaseException, policy: Retry, rule: Classifier | None, clean: Clean) -> End:
    if isinstance(error, NoOp):
        return Skipped(message_of(error, clean))
    if isinstance(error, Snooze):
        return Deferred(_bounded(error.seconds), message_of(error, clean))
    failure_class, note = classify(error, rule, clean)
    permanent = isinstance(error, Unrecoverable)
    return Failure(
        type=type_of(error),
        message=message_of(error, clean),
        code=None if (code := code_of(error)) is None else clean(code),
        failure_class=failure_class,
        traceback=traceback_of(error, clean),
        retry=not permanent and policy.allows(error, failure_class),
        retry_after=_bounded(error.retry_after) if isinstance(error, RateLimited) else None,
        note=note,
        causes=causes_of(error, clean),
    )


def _bounded(seconds: float) -> float:
    return min(seconds, MAX_SECONDS) if seconds > 0 else 0.0


def timed_out(seconds: float, policy: Retry) -> Failure:
    """The failure of a run that passed its timeout."""
    error = TimeoutError(f"ran longer than its timeout of {seconds:g} s")
    return Failure(
        type="JobTimeout",
        message=str(error),
        code="ETIMEDOUT",
        failure_class=FailureClass.TRANSIENT,
        retry=policy.allows(error, FailureClass.TRANSIENT),
    )


def decide(run: Facts, end: End, policy: Retry) -> Outcome:  # noqa: PLR0911 - one return per way to end
    """What becomes of the job."""
    match end:
        case Returned() | Committed():
            return completed(end)
        case Skipped(reason):
            return Completed(note=f"{_NO_OP}: {reason}")
        case Deferred(seconds, reason):
            return Snoozed(seconds, reason)
        case Stopped(cancelled):
            return Cancelled("cancelled while running") if cancelled else Released()
        case Unfit(park):
            return Released(note=park.reason, park=park)
        case Misplaced(lane):
            return Released(lane=lane)
        case Crashed(how):
            return _after_crash(run, how)
        case Lost(how):
            return _after_loss(run.max_attempts, _lost(how, run.attempt, run.ran_for, run.worker))
        case Failure():
            return _after_failure(run, end, policy)


def completed(end: Returned | Committed) -> Completed:
    """The outcome of a run that returned."""
    if isinstance(end, Committed):
        return COMPLETED
    return Completed(end.result, f"{_DROPPED}: {end.dropped}" if end.dropped else None)


def _after_failure(run: Facts, failure: Failure, policy: Retry) -> Outcome:
    error = error_record(failure, run.attempt, run.ran_for, run.worker, run.log)
    cooldown = failure.retry_after or 0.0
    if not failure.retry:
        return Failed(_permanent(failure), error, cooldown=cooldown)
    if run.probe and health_of(failure) is False:
        # The service is still down, which is not the job's fault: it has tried for all that wait.
        return Retried(policy.wait(run.attempt - 1, run.chance), error, refund=True)
    if run.attempt >= run.max_attempts:
        return Failed("exhausted", error, cooldown=cooldown)
    if failure.retry_after is not None:
        return Retried(_bounded(cooldown * (1 + policy.jitter * run.chance)), error, cooldown)
    return Retried(policy.wait(run.attempt - 1, run.chance), error)


def health_of(end: End) -> bool | None:
    """What the end of a run tells of the services it needs; None: nothing."""
    match end:
        case Returned():
            return True
        case Failure(failure_class=found) if found not in _NOT_THE_SERVICE:
            return False
        case _:
            return None


def _permanent(failure: Failure) -> str:
    return {
        FailureClass.INVALID_INPUT: "invalid-input",
        FailureClass.SYSTEM_FAILURE: "system-failure",
    }.get(failure.failure_class, "unrecoverable")


def _after_crash(run: Facts, how: str) -> Outcome:
    failure = Failure("WorkerCrashed", how, failure_class=FailureClass.SYSTEM_FAILURE)
    error = error_record(failure, run.attempt, run.ran_for, run.worker, run.log)
    if run.crashes + 1 >= CRASH_LIMIT:
        return Failed("crash-loop", error, crashed=True)
    if run.max_attempts == 1:
        return Failed("crashed", error, crashed=True)
    return Released("crashed while alone", error, suspect=True, crashed=True)


def judge(held: Held) -> Outcome:
    """What becomes of a job whose worker is gone. Bystanders are not charged."""
    if held.cancel_requested:
        return Cancelled("cancelled; its worker was lost")
    if not held.started:
        return Released("handed back: its worker ended")
    error = _lost("its worker was lost while running it", held.attempt, 0.0, held.worker)
    if held.rescues + 1 >= RESCUE_LIMIT:
        return Failed("crash-loop", error, rescued=True)
    return _after_loss(held.max_attempts, error)


def _lost(how: str, attempt: int, ran_for: float, worker: str) -> str:
    failure = Failure("WorkerLost", how, failure_class=FailureClass.SYSTEM_FAILURE)
    return error_record(failure, attempt, ran_for, worker)


def _after_loss(max_attempts: int, error: str) -> Outcome:
    if max_attempts == 1:
        return Failed("crashed", error, rescued=True)
    return Released("rescued from a worker that was lost", error, suspect=True, rescued=True)
