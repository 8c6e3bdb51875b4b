"""Jobs as the script takes them: in groups that share all but their payload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

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


# What plain jobs share that differ in nothing but their id and payload.
_SHARED = attrgetter(
    "queue", "task", "lane", "delay", "window", "priority", "max_attempts",
    "unique", "owner", "options", "expire_after", "ties",
)  # fmt: skip


def arguments(jobs: Sequence[NewJob]) -> list[bytes]:
    """What `enqueue.lua` takes. Only neighbours share a group, so that the jobs keep their order."""
    told: list[bytes] = []
    shared: tuple[Any, ...] | None = None
    alike: object = None  # of the plain job before, and how its base begins
    head = b""
    start = size = 0
    for job in jobs:
        like = _SHARED(job)
        if like == alike and job.key == job.id:
            told += (raw_id(job.id), head + job.args.encode())
            size += 1
            continue
        extras = _NONE if is_plain(job) else _extras(job)
        mine = (job.queue, job.task, job.lane, job.delay, job.window, job.priority, *extras)
        if mine != shared:
            if shared is not None:
                told[start] = number(size)
            shared, start, size = mine, len(told), 0
            told += group_head(job, b"".join(extras))
        alike, head = (like, plain_head(job)) if extras is _NONE else (None, b"")
        base = head + job.args.encode() if head else pack_base(job, more=b"t" in extras)
        told += (raw_id(job.id), base, *extras.values())
        size += 1
    if shared is not None:
        told[start] = number(size)
    return told


def group_head(job: NewJob, extras: bytes) -> tuple[bytes, ...]:
    """What a group shares; for one job until told otherwise."""
    return _head(job.queue, job.task, job.lane, delay_of(job), job.priority, extras)


@lru_cache(1_024)
def _head(
    queue: str, task: str, lane: str | None, delay: float, priority: int, extras: bytes
) -> tuple[bytes, ...]:
    return (
        b"1",
        kind_of(queue, task),
        b"" if lane in (None, queue) else str(lane).encode(),
        number(micro(delay) if delay > 0 else 0),
        number(HEAD_START[Priority(priority)]),
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
