"""The values that conditions and messages may name, and of what each is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from penstock.model.errors import InvalidOption

Value: TypeAlias = float | str | None  # None: not known now
Values: TypeAlias = Mapping[str, Value]


class Scope(StrEnum):
    """What a rule looks at, one by one. What is of a queue, or of the system, is also of what is in it."""

    SYSTEM = "system"
    QUEUE = "queue"
    TASK = "task"
    JOB = "job"
    SCHEDULE = "schedule"

    @property
    def depth(self) -> int:
        return {Scope.SYSTEM: 0, Scope.QUEUE: 1}.get(self, 2)


class Name(NamedTuple):
    scope: Scope
    meaning: str
    is_text: bool = False


NAMES: dict[str, Name] = {
    "dlq_size": Name(Scope.SYSTEM, "dead letters that are not recovered"),
    "workers": Name(Scope.SYSTEM, "live workers, of all queues"),
    "open_breakers": Name(Scope.SYSTEM, "circuit breakers that are not closed"),
    "breaker_names": Name(Scope.SYSTEM, "their names", is_text=True),
    "relay_lag": Name(Scope.SYSTEM, "seconds that the oldest row of the outbox has waited"),
    "queue": Name(Scope.QUEUE, "its name", is_text=True),
    "waiting": Name(Scope.QUEUE, "jobs that wait"),
    "active": Name(Scope.QUEUE, "jobs that run"),
    "delayed": Name(Scope.QUEUE, "jobs that are due later"),
    "blocked": Name(Scope.QUEUE, "jobs that wait for others"),
    "paused": Name(Scope.QUEUE, "1 while it is paused, else 0"),
    "oldest_age": Name(Scope.QUEUE, "seconds that the longest waiting job is overdue"),
    "error_rate": Name(Scope.QUEUE, "failed / (completed + failed) in the last 60 s; 0 when nothing ended"),
    "throughput": Name(Scope.QUEUE, "jobs completed in the last 60 s"),
    "processing_time": Name(Scope.QUEUE, "average seconds of a run in the last 60 s"),
    "worker_count": Name(Scope.QUEUE, "live workers that serve it"),
    "expected_workers": Name(
        Scope.QUEUE, "as set for it; else 1 while jobs wait or run and it is not paused"
    ),
    "stalled_count": Name(Scope.QUEUE, "active jobs whose worker is gone, or that passed their timeout"),
    "job_name": Name(Scope.TASK, "the task's name", is_text=True),
    "failures": Name(Scope.TASK, "failed runs in the last 60 s whose class is alerted, and dead letters"),
    "failure_class": Name(Scope.TASK, "the worst class among them", is_text=True),
    "timed_out": Name(Scope.TASK, "runs ended by their timeout in the last 60 s"),
    "missed_deadlines": Name(
        Scope.TASK, "jobs whose deadline passed in the last 60 s before what they wait for was done"
    ),
    "unknown_jobs": Name(Scope.TASK, "jobs set aside because no worker can run them"),
    "job_id": Name(Scope.JOB, "the job's id", is_text=True),
    "active_duration": Name(Scope.JOB, "seconds that its run has taken so far"),
    "duration": Name(Scope.JOB, "the same, in whole seconds"),
    "timeout": Name(Scope.JOB, "seconds that a run may take"),
    "timeout_threshold": Name(Scope.JOB, "80 % of the timeout"),
    "schedule": Name(Scope.SCHEDULE, "its name", is_text=True),
    "schedule_lateness": Name(Scope.SCHEDULE, "seconds that its next tick is overdue"),
}

_ALSO = {"job_name": frozenset({Scope.TASK, Scope.JOB})}  # of a job the name is that of its task


def check_known(what: str, names: Iterable[str]) -> None:
    """InvalidOption for the first name that there is not."""
    for name in names:
        if name not in NAMES:
            close = get_close_matches(name, NAMES, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(sorted(NAMES))}"
            raise InvalidOption(f"{what}: there is no value {name!r}; {hint}")


def scope_of(names: Iterable[str]) -> Scope:
    """What a rule over these names looks at; InvalidOption where no one thing has them all."""
    sought = list(names)
    for scope in Scope:
        if all(_has(scope, name) for name in sought):
            return scope
    raise InvalidOption(f"nothing has all of these at once: {', '.join(sorted(set(sought)))}")


def _has(scope: Scope, name: str) -> bool:
    of = NAMES[name].scope
    return scope is of or of.depth < scope.depth or scope in _ALSO.get(name, ())
