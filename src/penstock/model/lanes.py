"""Lanes: what is claimed together inside a queue. A lane's name says what kind it is."""

from __future__ import annotations

from penstock.model.outcome import Park

_PARKED = "?"  # no queue or task name may hold it
_AND = ","  # nor this
MOST_MISFITS = 8  # signatures that a parked lane is closed to, the latest of them


def parked_lane(queue: str, park: Park) -> str:
    """The lane for jobs of one task that wait for a worker which can run them."""
    return f"{queue}{_PARKED}{park.task}" + (f"{_PARKED}{park.misfit}" if park.misfit else "")


def is_parked(lane: str) -> bool:
    return _PARKED in lane


def misfits_of(lane: str) -> tuple[str, ...]:
    """The signatures that the jobs in this lane are known not to fit."""
    _, _, found = (*lane.split(_PARKED), "", "")[:3]
    return tuple(found.split(_AND)) if found else ()


def misfits(lane: str, signature: str | None = None) -> str | None:
    """What a job from this lane does not fit, now `signature` too: for `Park.misfit`.

    All are remembered: a job that fits none of several deployed versions must not go round between them.
    """
    known = [found for found in misfits_of(lane) if found != signature]
    return _AND.join([*known, *([signature] if signature else [])][-MOST_MISFITS:]) or None
