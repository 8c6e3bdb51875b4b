"""Jobs as the script takes them: in groups that share all but their payload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from penstock.engines.redis.codec import (
    STATES,
    has_key,
    is_plain,
    kind_of,
    pack_base,
    plain_head,
    raw_id,
    text_id,
)
from penstock.engines.redis.instants import micro, number
from penstock.engines.redis.ties import delay_of, pack_more
from penstock.model.job import Enqueued, NewJob
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State

_NONE: dict[bytes, bytes] = {}
_STANDING = (State.WAITING, State.DELAYED)


# What jobs share that have neither key, owner nor ties, and differ in nothing but their id and their payload.
_NAMES = ("queue", "task", "lane", "delay", "window", "priority", "max_attempts", "options", "expire_after")
_SHARED = attrgetter(*_NAMES)


def arguments(jobs: Sequence[NewJob]) -> list[bytes]:
    """What `enqueue.lua` takes. Only neighbours share a group, so that the jobs keep their order."""
    told: list[bytes] = []
    group: object = None  # what the jobs of the group have in common
    start = size = 0
    for job in jobs:
        bare = job.key == job.id and not job.unique and job.owner is None and job.ties is None
        head = _plain_head(_SHARED(job)) if bare else None
        extras = _extras(job) if head is None else _NONE
        mine = head or (job.queue, job.task, job.lane, job.delay, job.window, job.priority, *extras)
        if mine is not group and mine != group:
            if group is not None:
                told[start] = number(size)
            group, start, size = mine, len(told), 0
            told += group_head(job, b"".join(extras)) if head is None else head.group
        base = pack_base(job, more=b"t" in extras) if head is None else head.base + job.args.encode()
        told += (raw_id(job.id), base, *extras.values())
        size += 1
    if group is not None:
        told[start] = number(size)
    return told


class _PlainHead(NamedTuple):
    """What plain jobs share: how their group begins, and the base of each."""

    group: tuple[bytes, ...]
    base: bytes


@lru_cache(1_024)
def _plain_head(shared: tuple[Any, ...]) -> _PlainHead | None:
    """None where jobs of which this is so are not plain."""
    job = NewJob("", **dict(zip(_NAMES, shared, strict=True)))
    return _PlainHead(group_head(job, b""), plain_head(job)) if is_plain(job) else None


def group_head(job: NewJob, extras: bytes) -> tuple[bytes, ...]:
    """What a group shares; for one job until told otherwise."""
    delay = delay_of(job)
    return (
        b"1",
        kind_of(job.queue, job.task),
        b"" if job.lane in (None, job.queue) else str(job.lane).encode(),
        number(micro(delay) if delay > 0 else 0),
        number(HEAD_START[Priority(job.priority)]),
        extras,
    )


def of_one(job: NewJob, heir_of: bytes) -> list[bytes]:
    """A group of one: the heir of a dead letter."""
    extras = _extras(job)
    return [
        *group_head(job, b"".join(extras)),
        raw_id(job.id),
        pack_base(job, heir_of=heir_of),
        *extras.values(),
    ]  # fmt: skip


def _extras(job: NewJob) -> dict[bytes, bytes]:
    """What only some jobs have, and the script must know."""
    extras: dict[bytes, bytes] = {}
    if has_key(job):
        key = job.key.encode()
        if job.unique:
            extras[b"u"] = key
        extras[b"k"] = key
    if job.owner is not None:
        extras[b"o"] = job.owner.encode()
    if job.expire_after is not None:
        extras[b"x"] = number(micro(job.expire_after))
    if (more := pack_more(job)) is not None:
        extras[b"t"] = more
    return extras


def answers(jobs: Sequence[NewJob], there: Sequence[Any]) -> list[Enqueued]:
    """One answer for each job; `there` tells of those that were not created, and those that are blocked."""
    told = [Enqueued(job.id, _STANDING[_is_delayed(job)], False) for job in jobs]
    for place, raw, letter in zip(*[iter(there)] * 3, strict=True):
        job_id = text_id(raw)
        told[place] = Enqueued(job_id, STATES[letter.decode()], job_id != jobs[place].id)
    return told


def _is_delayed(job: NewJob) -> bool:
    return job.delay > 0 or (job.unique and delay_of(job) > 0)
