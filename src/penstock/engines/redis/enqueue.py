"""Jobs as the script takes them: in groups that share all but their payload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
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
from penstock.engines.redis.server import Server
from penstock.engines.redis.ties import delay_of, pack_more
from penstock.engines.redis.wire import begun
from penstock.model.job import AllWait, Enqueued, NewJob
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State

# What a job has besides its id, its payload and its key. Its place in an outbox is no matter here.
_NAMES = tuple(name for name in NewJob._fields if name not in ("id", "args", "key", "order"))
_SHARED = itemgetter(*map(NewJob._fields.index, _NAMES))


def arguments(jobs: Sequence[NewJob]) -> list[bytes]:
    """What `enqueue.lua` takes. Only neighbours share a group, so that the jobs keep their order."""
    told: list[bytes] = []
    others: list[NewJob] = []
    for shared, alike in groupby(jobs, _SHARED):
        some = list(alike)
        if is_plain(some[0]) and [job.key for job in some] == [job.id for job in some]:
            if others:
                told += _in_groups(others)
                others = []
            told += _plain_head(shared).group(some)
        else:
            others += some
    return told + _in_groups(others) if others else told


class _PlainHead(NamedTuple):
    """What plain jobs share: how their group begins, after its size, and the base of each."""

    words: tuple[bytes, ...]
    base: bytes

    def group(self, jobs: Sequence[NewJob]) -> list[bytes]:
        told, base = [number(len(jobs)), *self.words], self.base
        for job in jobs:
            told += (raw_id(job.id), base + job.args.encode())
        return told


@lru_cache(1_024)
def _plain_head(shared: tuple[Any, ...]) -> _PlainHead:
    job = NewJob("", **dict(zip(_NAMES, shared, strict=True)))
    return _PlainHead(_head(job, b""), plain_head(job))


class Alone:
    """Calls that put one plain job in: all but its id and its payload is written once for all of a kind."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._begun = lru_cache(256)(self._begin)

    def call(self, job: NewJob) -> bytes:
        command, base = self._begun(_SHARED(job))
        base += job.args.encode()
        return b"%b$16\r\n%b\r\n$%d\r\n%b\r\n" % (command, raw_id(job.id), len(base), base)

    def _begin(self, shared: tuple[Any, ...]) -> tuple[bytes, bytes]:
        head = _plain_head(shared)
        return begun(self._server.call("enqueue", b"", b"1", *head.words), 2), head.base


def _in_groups(jobs: Sequence[NewJob]) -> list[bytes]:
    """Jobs that are not plain."""
    told: list[bytes] = []
    for _, alike in groupby([(job, _extras(job)) for job in jobs], _alike):
        some = list(alike)
        first, extras = some[0]
        told += (number(len(some)), *_head(first, b"".join(extras)))
        for job, extras in some:
            told += (raw_id(job.id), pack_base(job, more=b"t" in extras), *extras.values())
    return told


def _alike(told: tuple[NewJob, dict[bytes, bytes]]) -> tuple[Any, ...]:
    job, extras = told
    return job.queue, job.task, job.lane, job.delay, job.window, job.priority, *extras


def _head(job: NewJob, extras: bytes) -> tuple[bytes, ...]:
    """What a group shares, after its size."""
    delay = delay_of(job)
    return (
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
        b"1",
        *_head(job, b"".join(extras)),
        raw_id(job.id),
        pack_base(job, heir_of=heir_of),
        *extras.values(),
    ]


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


def answers(jobs: Sequence[NewJob], there: Sequence[Any]) -> Sequence[Enqueued]:
    """One answer for each job; `there` tells of those that were not created, and those that are blocked."""
    if not there and not any(job.delay or job.unique for job in jobs):
        return AllWait(jobs)
    told = [Enqueued(job.id, _standing(job), False) for job in jobs]
    for place, raw, letter in zip(*[iter(there)] * 3, strict=True):
        job_id = text_id(raw)
        told[place] = Enqueued(job_id, STATES[letter.decode()], job_id != jobs[place].id)
    return told


def _standing(job: NewJob) -> State:
    return State.DELAYED if delay_of(job) > 0 else State.WAITING
