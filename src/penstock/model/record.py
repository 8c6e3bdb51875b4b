"""The tracked record of a job, in the words of `background_jobs`: what is told of it to the outside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from penstock.model.job import Job
from penstock.model.states import State, Status

MAX_LINE = 500  # characters
_LINE = re.compile(r"[^ \t\r\n][^\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One job, narrow: no traceback, no worker, nothing that only engines need."""

    id: str
    queue_name: str
    job_type: str
    bull_job_id: str  # the job's id in the engine: ours is the same everywhere
    status: Status
    payload_json: str
    result_json: str | None
    error_message: str | None  # the latest error in one short line, or why it was cancelled
    attempts_made: int
    max_attempts: int
    idempotency_key: str  # a minted one is the id
    created_at: datetime
    started_at: datetime | None  # the first start
    finished_at: datetime | None
    updated_at: datetime
    owner: str | None = None  # not a column of `background_jobs`

    @classmethod
    def of(cls, job: Job) -> Self:
        """What is told of a job that the engine still has."""
        return cls(
            id=job.id,
            queue_name=job.queue,
            job_type=job.task,
            bull_job_id=job.id,
            status=job.status,
            payload_json=job.args_json,
            result_json=job.result_json,
            error_message=error_message(job.state, job.errors, job.note),
            attempts_made=job.attempt,
            max_attempts=job.max_attempts,
            idempotency_key=job.key,
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            updated_at=job.finished_at or max(job.created_at, job.claimed_at or job.created_at),
            owner=job.owner,
        )


def error_message(state: State, errors: list[dict[str, Any]], note: str | None) -> str | None:
    """The latest error as `Type: message`; of a job that ended without one, its note."""
    if state is State.COMPLETED:
        return None
    if errors:
        return summary(errors[-1])
    return one_line(note) if state.finished and note else None


def summary(error: dict[str, Any]) -> str:
    """One error record in one line."""
    return one_line(f"{error.get('type')}: {one_line(str(error.get('message')))}")


def one_line(text: str) -> str:
    """The first line that says something, bounded. What comes after it may tell values: PostgreSQL's DETAIL,
    SQLAlchemy's parameters. The engines' SQL does the same.
    """
    found = _LINE.search(text)
    return found[0][:MAX_LINE] if found else ""
