"""Messages between our own processes: one JSON object per line over a socket pair."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from penstock.model.decide import Crashed, Deferred, End, Returned, Skipped, Stopped, Unfit
from penstock.model.failure import Failure, FailureClass
from penstock.model.outcome import Park

# Larger than any payload and result together with the escapes that JSON text inside JSON needs.
MAX_LINE = 16 * 1024 * 1024

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Returned, Skipped, Deferred, Failure, Crashed, Stopped, Unfit)
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
