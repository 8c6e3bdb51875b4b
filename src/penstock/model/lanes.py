"""Lanes: what is claimed together inside a queue. A lane's name says what kind it is."""

from __future__ import annotations

from penstock.model.outcome import Park

_PARKED = "?"  # no queue or task name may hold it


def parked_lane(queue: str, park: Park) -> str:
    """The lane for jobs of one task that wait for a worker which can run them."""
    return f"{queue}{_PARKED}{park.task}" + (f"{_PARKED}{park.misfit}" if park.misfit else "")


def is_parked(lane: str) -> bool:
    return _PARKED in lane
