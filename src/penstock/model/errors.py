"""Every error Penstock raises, and the signals a handler raises.

PenstockError
├── InvalidOption               a declaration, setting or option that cannot be; says what may be
├── EnqueueError                nothing was created
│   ├── UnknownQueue
│   ├── UnknownTask
│   ├── InvalidArguments        every wrong argument at once
│   ├── InvalidValue            not strict JSON
│   │   └── ValueTooLarge       over the size or depth limit
│   ├── Disabled                the task or queue is switched off
│   └── CalledInLoop            a sync call inside a running event loop; names its async twin
├── EngineError
│   ├── EngineUnavailable       cannot be reached now; safe to try again
│   │   ├── OutcomeUnknown      the reply was lost; safe to try again with the same ids
│   │   ├── Contended           another transaction holds what the call would change; nothing was done
│   │   └── EngineFull          it has no room for more; nothing was changed
│   ├── AccessRefused           it does not let us in, or lacks rights; mend the URL or the rights
│   ├── SchemaMissing           run `penstock migrate`
│   ├── SchemaTooNew            this release is older than the database
│   ├── MissingExtra            names the package to install
│   ├── EngineUnsafe            jobs could be lost there; mend it, or accept it by name
│   ├── NotSupported            this engine cannot do that; says what to use instead
│   ├── TransactionTooLong      it would have held up everybody else; it was undone
│   └── WorkerExpired           this worker was given up; it must stop and begin under a new id
├── LeaseLost                   the job has passed on while it ran; this run is to stop
├── WorkerStuck                 too many handlers do not stop; only a new process helps
├── JobNotFound
├── ActionRefused               what was asked does not apply to the job as it is; says what does
├── ResultUnavailable           the job ended, or is still running, without a result to give
│   ├── JobFailed
│   ├── JobCancelled
│   ├── ResultDropped           the work is done; its result could not be kept
│   └── ResultTimeout           (also a TimeoutError)
└── Signal                      raised by handlers to say how the run ended
    ├── Unrecoverable           fail at once, keep the remaining attempts unused
    ├── Snooze                  run again later, no attempt spent
    │   └── CircuitOpen         the service is known to be down: run again when it is tried
    ├── RateLimited             run again after the cooldown
    └── NoOp                    there is nothing to do any more: completed, with the reason kept
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from penstock.model.redaction import redacted

Duration: TypeAlias = float | timedelta

MAX_SECONDS = 3_650 * 86_400.0  # ten years: longer, and instants do not fit every engine


class PenstockError(Exception):
    """The root of all errors raised by Penstock."""


class InvalidOption(PenstockError, ValueError):
    """A declaration, setting or option has a value that cannot be."""


class EnqueueError(PenstockError):
    """The job was refused and nothing was created."""


class UnknownQueue(EnqueueError, LookupError):
    """The queue is not declared."""


class UnknownTask(EnqueueError, LookupError):
    """No task is registered under this name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one argument. Never carries the value itself."""

    argument: str
    message: str


class InvalidArguments(EnqueueError, TypeError):
    """The arguments do not fit the task's signature."""

    def __init__(self, task: str, problems: Sequence[Problem]) -> None:
        self.task = task
        self.problems = tuple(problems)
        lines = "\n".join(f"  {p.argument}: {p.message}" for p in self.problems)
        super().__init__(f"the arguments do not fit task {task!r}\n{lines}")


class InvalidValue(EnqueueError, ValueError):
    """The value is not strict JSON: it would not come back equal from every engine."""


class ValueTooLarge(InvalidValue):
    """The value is over the size or depth limit; store it elsewhere and pass a reference."""


class Disabled(EnqueueError):
    """The task or its queue is switched off by its `enabled=` gate."""


class CalledInLoop(EnqueueError, RuntimeError):
    """A blocking call was made inside a running event loop."""


class EngineError(PenstockError):
    """The engine could not do what was asked."""

    def __init__(self, *said: object) -> None:
        # Drivers quote what they were given: no password of a URL is to travel on in their words.
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in said))


class EngineUnavailable(EngineError):
    """The engine cannot be reached now. Nothing is half-done; try again."""


class OutcomeUnknown(EngineUnavailable):
    """The reply was lost: it may or may not have happened. Safe to try again with the same ids."""


class Contended(EngineUnavailable):
    """Another transaction holds what the call would change, such as a key. Nothing was done; try again."""


class EngineFull(EngineUnavailable):
    """The engine has no room for more. Nothing was changed; try again when there is some."""


class AccessRefused(EngineError):
    """The engine does not let us in: user, password, database or rights are wrong. Trying again is no use."""


class SchemaMissing(EngineError):
    """The database has no Penstock schema, or an older one. Run `penstock migrate`."""


class SchemaTooNew(EngineError):
    """The database was migrated by a newer release of Penstock than this one."""


class MissingExtra(EngineError, ImportError):
    """An optional dependency is not installed."""


class EngineUnsafe(EngineError):
    """The engine is set up so that jobs could be lost. Mend it, or accept it by name."""


class TransactionTooLong(EngineError):
    """ctx.transaction() took longer than others can be made to wait; nothing of it was kept."""


class NotSupported(EngineError):
    """This engine cannot do what was asked, and never will: use what the message names."""


class WorkerExpired(EngineError):
    """The worker missed its heartbeats and was given up; its jobs belong to others now."""


class LeaseLost(PenstockError):
    """The job belongs to another worker by now: this run must stop, and what it returns is refused."""


class WorkerStuck(PenstockError):
    """Too many handlers ran past their time and do not stop: only a new process gets rid of them."""


class JobNotFound(PenstockError, LookupError):
    """There is no record of this job: it never was, or it has been pruned."""


class ActionRefused(PenstockError):
    """What was asked does not apply to the job in the state it is in."""


class ResultUnavailable(PenstockError):
    """There is no result to return."""


class JobFailed(ResultUnavailable):
    """The job ended as failed."""


class JobCancelled(ResultUnavailable):
    """The job was cancelled."""


class ResultDropped(ResultUnavailable):
    """The job completed; its result was not kept because it was too large or not JSON."""


class ResultTimeout(ResultUnavailable, TimeoutError):
    """The job did not finish in the given time. It goes on; ask again."""


class Signal(PenstockError):
    """Raised by a handler to say how the run ended."""


class Unrecoverable(Signal):
    """Fail now: trying again cannot help. The remaining attempts stay unused."""


class Snooze(Signal):
    """Run this job again in `seconds`; the attempt is not counted."""

    def __init__(self, seconds: Duration, reason: str = "") -> None:
        self.seconds = in_seconds("Snooze", seconds)
        super().__init__(reason or f"snoozed for {self.seconds:g} s")


class CircuitOpen(Snooze):
    """The service behind a breaker is known to be down: run again when it is tried, no attempt spent."""

    def __init__(self, breaker: str, retry_in: Duration) -> None:
        super().__init__(retry_in, f"breaker {breaker!r} is open")
        self.breaker = breaker


class RateLimited(Signal):
    """The service asked us to slow down: run again after `retry_after` seconds."""

    code = "RATE_LIMITED"

    def __init__(self, retry_after: Duration, message: str = "") -> None:
        self.retry_after = in_seconds("RateLimited", retry_after)
        super().__init__(message or f"rate limited, retry after {self.retry_after:g} s")


class NoOp(Signal):
    """There is nothing to do any more (the target was deleted): end as completed, keep the reason."""


def in_seconds(what: str, value: Duration) -> float:
    """Read a duration, given as seconds or as a timedelta; InvalidOption where no clock can honour it."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f"{what} takes seconds or a timedelta, not {type(value).__name__}")
    if not 0 <= value <= MAX_SECONDS:
        raise InvalidOption(f"{what} takes seconds from 0 up to ten years ({MAX_SECONDS:,.0f})")
    return float(value)


def is_away(error: Exception) -> bool:
    """Every kind of EngineError but the bare one tells of the engine, and not of what it was given."""
    return isinstance(error, EngineError) and type(error) is not EngineError
