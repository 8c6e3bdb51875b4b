"""Jobs as an outbox keeps them: JSON that every later release can read, or says why not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.model.errors import InvalidValue
from penstock.model.job import Edge, FlowName, NewJob, Ties, Window

_NO_JOB: dict[str, Any] = NewJob("", "", "")._asdict() | {"id": None, "queue": None, "task": None}
_NO_TIES: dict[str, Any] = Ties()._asdict()


def write(jobs: Sequence[NewJob]) -> str:
    """The jobs of one row."""
    return json.dumps([_fields(job) for job in jobs], ensure_ascii=False, separators=(",", ":"))


def read(text: str, age: float) -> list[NewJob]:
    """The jobs of a row that was written `age` seconds ago, what they wait for counted from then.

    InvalidValue where the row was not written by us, or by a release that knows more than this one.
    """
    try:
        found = json.loads(text)
        jobs = [_aged(_job(fields), age) for fields in found]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidValue(f"the row cannot be read: {error}") from None
    if not jobs:
        raise InvalidValue("the row cannot be read: it holds no job")
    return jobs


def _fields(job: NewJob) -> dict[str, Any]:
    fields = _changed(job._asdict(), _NO_JOB)
    fields.pop("order", None)  # which the row itself has
    if job.ties is not None:
        fields["ties"] = _changed(job.ties._asdict(), _NO_TIES)
    return fields


def _changed(fields: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value != usual[name]}


def _job(fields: dict[str, Any]) -> NewJob:
    if "window" in fields:
        fields["window"] = Window(*fields["window"])
    if "ties" in fields:
        fields["ties"] = _ties(fields["ties"])
    job = NewJob(**fields)
    if not all(isinstance(text, str) for text in (job.id, job.queue, job.task)):
        raise TypeError("a job's id, queue and task are text")
    return job


def _ties(fields: dict[str, Any]) -> Ties:
    if "after" in fields:
        fields["after"] = tuple(Edge(*edge) for edge in fields["after"])
    if "flow" in fields:
        fields["flow"] = FlowName(*fields["flow"])
    return Ties(**fields)


def _aged(job: NewJob, age: float) -> NewJob:
    """The job as it is to be put in now: due, expired and late when it would have been without the outbox."""
    late = max(0.0, age - job.delay)
    changes: dict[str, Any] = {"delay": max(0.0, job.delay - age)}
    if job.expire_after is not None:
        changes["expire_after"] = max(0.0, job.expire_after - late)
    if job.ties is not None and job.ties.deadline is not None:
        changes["ties"] = job.ties._replace(deadline=max(0.0, job.ties.deadline - age))
    return job._replace(**changes)
