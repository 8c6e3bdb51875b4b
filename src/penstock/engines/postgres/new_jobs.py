"""What the SQL function `enqueue` takes and answers, over whichever driver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.model.job import RECORD, Enqueued, NewJob, Ties
from penstock.model.states import State

_DEFAULTS = NewJob("", "", "")
_NO_TIES: dict[str, Any] = Ties(at_deadline="")._asdict()  # type: ignore[arg-type]
_OPTIONAL = ("priority", "delay", "max_attempts", "owner", "expire_after", "options", "lane")


def as_json(jobs: Sequence[NewJob]) -> str:
    """The jobs as its argument."""
    return json.dumps([_fields(job) for job in jobs], ensure_ascii=False)


def decode(rows: Sequence[tuple[Any, ...]]) -> list[Enqueued]:
    return [Enqueued(job_id, State(state), duplicate) for job_id, state, duplicate in rows]


def _fields(job: NewJob) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": job.id, "queue": job.queue, "task": job.task, "args": job.args}
    if job.unique or job.key not in ("", job.id):
        fields |= {"key": job.key, "unique": job.unique}
    for name in _OPTIONAL:
        if (value := getattr(job, name)) != getattr(_DEFAULTS, name):
            fields[name] = value
    if job.unique and job.window != RECORD:
        fields |= {"window": job.window.kind, "window_seconds": job.window.seconds}
    if job.ties is not None:
        fields["ties"] = _set_fields(job.ties)
    return fields


def _set_fields(ties: Ties) -> dict[str, Any]:
    return {name: value for name, value in ties._asdict().items() if value != _NO_TIES[name]}
