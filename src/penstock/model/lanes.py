"""Lanes: what is claimed together inside a queue. A lane's name says what kind it is.

    email                   the open lane of queue email
    email?send              jobs of task send that wait for a worker which can run them: parked
    email>send              jobs of a task that has limits, or needs a service
    email>send>tenant-7     those of one key of that task
    email>>tenant-7         those of one key of a queue whose tasks share a limit per key

What comes before the key is the lane's *group*: `email`, `email>send`, `email>`. The group of a queue's open
lane stands for the whole queue.
"""

from __future__ import annotations

from penstock.model.outcome import Park

_PARKED = "?"  # no queue or task name may hold it
_AND = ","  # nor this
_LIMITED = ">"  # nor this; a key may
MOST_MISFITS = 8  # signatures that a parked lane is closed to, the latest of them

# Fairness between the lanes of a group, in seconds: see "Lanes" in the engine contract.
TURN_COST = 10.0  # what one claimed job puts its lane back by
OLDEST_TURN = 900.0  # how much longer waiting than this gains a lane nothing


def parked_lane(queue: str, park: Park) -> str:
    """The lane for jobs of one task that wait for a worker which can run them."""
    return f"{queue}{_PARKED}{park.task}" + (f"{_PARKED}{park.misfit}" if park.misfit else "")


def limited_lane(group: str, key: str | None = None) -> str:
    """The lane for the jobs of a group, or of one key of it. A key may hold anything: `?` stays ours."""
    return group if key is None else f"{group}{_LIMITED}{key.replace('%', '%25').replace(_PARKED, '%3F')}"


def group_name(queue: str, task: str = "") -> str:
    """The group of a task's lanes; without a task, of the lanes whose keys all tasks of a queue share."""
    return f"{queue}{_LIMITED}{task}"


def group_of(lane: str) -> str:
    """The group that a lane is in; the queue's name for the open lane and for parked ones."""
    queue, limited, rest = lane.partition(_LIMITED)
    if not limited:
        return queue.partition(_PARKED)[0]
    return f"{queue}{_LIMITED}{rest.partition(_LIMITED)[0]}"


def key_of(lane: str) -> str | None:
    """The key that the jobs of a lane share; None where they share none."""
    parts = lane.split(_LIMITED, 2)
    return parts[2].replace("%3F", _PARKED).replace("%25", "%") if len(parts) > 2 else None


def queue_of(lane: str) -> str:
    """The queue that a lane or a group belongs to."""
    return lane.partition(_LIMITED)[0].partition(_PARKED)[0]


def is_parked(lane: str) -> bool:
    return _PARKED in lane


def is_limited(lane: str) -> bool:
    """Whether a lane has limits of its own, besides those of its queue."""
    return _LIMITED in lane


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
