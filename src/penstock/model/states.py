"""The states of a job and every way between them. Code, docs and tests read this one table."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    WAITING = "waiting"
    DELAYED = "delayed"
    BLOCKED = "blocked"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self in FINISHED


class Status(StrEnum):
    """What the outside world is told: the HTTP API and `background_jobs` speak these words."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
UNFINISHED = frozenset(State) - FINISHED

# (state before, verb) -> states it may lead to. None is "no such job yet".
TRANSITIONS: dict[tuple[State | None, str], frozenset[State]] = {
    (None, "enqueue"): frozenset({State.WAITING, State.DELAYED, State.BLOCKED, State.CANCELLED}),
    (None, "recover"): frozenset({State.WAITING, State.DELAYED}),
    (State.BLOCKED, "resolve"): frozenset({State.WAITING, State.DELAYED, State.CANCELLED}),
    (State.DELAYED, "stage"): frozenset({State.WAITING}),
    (State.DELAYED, "promote"): frozenset({State.WAITING}),
    (State.DELAYED, "reschedule"): frozenset({State.WAITING, State.DELAYED}),
    (State.WAITING, "reschedule"): frozenset({State.WAITING, State.DELAYED}),
    (State.WAITING, "claim"): frozenset({State.ACTIVE}),
    (State.ACTIVE, "complete"): frozenset({State.COMPLETED}),
    (State.ACTIVE, "retry"): frozenset({State.WAITING, State.DELAYED}),
    (State.ACTIVE, "snooze"): frozenset({State.WAITING, State.DELAYED}),
    (State.ACTIVE, "release"): frozenset({State.WAITING}),
    (State.ACTIVE, "fail"): frozenset({State.FAILED}),
    (State.ACTIVE, "rescue"): frozenset({State.WAITING, State.FAILED, State.CANCELLED}),
    (State.ACTIVE, "cancel"): frozenset({State.ACTIVE, State.CANCELLED}),
    (State.WAITING, "cancel"): frozenset({State.CANCELLED}),
    (State.DELAYED, "cancel"): frozenset({State.CANCELLED}),
    (State.BLOCKED, "cancel"): frozenset({State.CANCELLED}),
    (State.WAITING, "expire"): frozenset({State.CANCELLED}),
    (State.DELAYED, "expire"): frozenset({State.CANCELLED}),
    (State.BLOCKED, "expire"): frozenset({State.WAITING, State.DELAYED, State.CANCELLED, State.FAILED}),
}


def may_become(before: State | None, verb: str) -> frozenset[State]:
    """The states that `verb` may lead to from `before`; empty where the verb does not apply."""
    return TRANSITIONS.get((before, verb), frozenset())


def status_of(state: State, started: bool) -> Status:
    """The outside word for a state: pending until first started, processing until ended."""
    if state.finished:
        return Status(state.value)
    return Status.PROCESSING if started else Status.PENDING
