"""Rows to records. Engines name their columns alike, so that one reader serves them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from penstock.model.job import DeadLetter, Job
from penstock.model.lanes import is_parked
from penstock.model.priority import Priority
from penstock.model.record import Record
from penstock.model.states import State, Status

Row: TypeAlias = Mapping[str, Any]
Instant: TypeAlias = Callable[[Any], datetime | None]
Load: TypeAlias = Callable[[Any], Any]


def job_from(
    row: Row, instant: Instant, load: Load, *, after: Sequence[str] | None, blocked_by: Sequence[str] | None
) -> Job:
    """A job from a row of either table; `instant` reads times, `load` reads our own JSON columns."""
    created, due = instant(row["created_at"]), instant(row["due_at"])
    assert created is not None
    assert due is not None
    return Job(
        id=row["id"],
        queue=row["queue"],
        task=row["task"],
        lane=row["lane"],
        state=State(row["state"]),
        args_json=row["args"],
        key=row["key"],
        unique=bool(row["is_unique"]),
        priority=Priority(row["priority"]),
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        created_at=created,
        due_at=due,
        owner=row["owner"],
        options_json=row["options"],
        expires_at=instant(row["expires_at"]),
        started_at=instant(row["started_at"]),
        claimed_at=instant(row["claimed_at"]),
        finished_at=instant(row["finished_at"]),
        worker=row["worker"],
        progress=load(row["progress"]),
        result_json=row["result"],
        note=row["note"],
        errors=load(row["errors"]) or [],
        ran_for=row["ran_for"],
        suspect=bool(row["suspect"]),
        crashes=row["crashes"],
        rescues=row["rescues"],
        cancel_requested=bool(row["cancel_requested"]),
        parked=is_parked(row["lane"]) and row["state"] == State.WAITING,
        recovered_from=row["recovered_from"],
        recovered_as=row["recovered_as"],
        after=tuple(after or ()),
        blocked_by=tuple(blocked_by or ()),
        deadline_at=instant(row["deadline_at"]),
        flow=row["flow"],
        origin=row["origin"],
    )


def dead_letter_from(row: Row, instant: Instant, load: Load) -> DeadLetter:
    """A dead letter from its row."""
    failed = instant(row["failed_at"])
    assert failed is not None
    return DeadLetter(
        job_id=row["job_id"],
        queue=row["queue"],
        task=row["task"],
        args_json=row["args"],
        key=row["key"],
        unique=bool(row["is_unique"]),
        priority=Priority(row["priority"]),
        max_attempts=row["max_attempts"],
        owner=row["owner"],
        options_json=row["options"],
        reason=row["reason"],
        error=load(row["error"]),
        attempts=row["attempts"],
        first_started_at=instant(row["first_started_at"]),
        ran_for=row["ran_for"],
        failed_at=failed,
        recovered_at=instant(row["recovered_at"]),
        recovered_as=row["recovered_as"],
    )


def record_from(row: Row, instant: Instant) -> Record:
    """A tracked record from its row, whose columns are those of `background_jobs` and the owner."""
    created, updated = instant(row["created_at"]), instant(row["updated_at"])
    assert created is not None
    assert updated is not None
    return Record(
        id=row["id"],
        queue_name=row["queue_name"],
        job_type=row["job_type"],
        bull_job_id=row["bull_job_id"],
        status=Status(row["status"]),
        payload_json=row["payload_json"],
        result_json=row["result_json"],
        error_message=row["error_message"],
        attempts_made=row["attempts_made"],
        max_attempts=row["max_attempts"],
        idempotency_key=row["idempotency_key"],
        created_at=created,
        started_at=instant(row["started_at"]),
        finished_at=instant(row["finished_at"]),
        updated_at=updated,
        owner=row["owner"],
    )
