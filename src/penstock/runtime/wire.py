"""Messages between our own processes: one JSON object per line over a socket pair."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, NamedTuple

from penstock.model.decide import Committed, Crashed, Deferred, End, Lost, Returned, Skipped, Stopped, Unfit
from penstock.model.failure import Failure, FailureClass
from penstock.model.job import Edge, FlowName, NewJob, Ties, Window
from penstock.model.outcome import Park


class Terms(NamedTuple):
    """What a run in a child must know of the worker it runs for."""

    worker: str
    lease: float  # seconds
    keep: bool  # completed, it leaves a record


# No line of ours is too long: what it carries is bounded by the settings for payloads and results.
MAX_LINE = 2**31

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Returned, Committed, Skipped, Deferred, Failure, Crashed, Lost, Stopped, Unfit)
}


def pack(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def unpack(line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    return message


def end_to_wire(end: End) -> dict[str, Any]:
    return {"kind": type(end).__name__, **asdict(end)}


def end_from_wire(message: dict[str, Any]) -> End:
    fields = dict(message)
    kind = _KINDS[fields.pop("kind")]
    if kind is Failure:
        fields["failure_class"] = FailureClass(fields["failure_class"])
        fields["causes"] = tuple(fields["causes"])
    if kind is Unfit:
        fields["park"] = Park(**fields["park"])
    end: End = kind(**fields)
    return end


def job_from_wire(fields: list[Any]) -> NewJob:
    """A job that was packed as the tuple it is."""
    job = NewJob(*fields)
    return job._replace(window=Window(*job.window), ties=None if job.ties is None else _ties(job.ties))


def _ties(fields: Ties) -> Ties:
    ties = Ties(*fields)
    flow = None if ties.flow is None else FlowName(*ties.flow)
    return ties._replace(after=tuple(Edge(*edge) for edge in ties.after), flow=flow)
