"""The engine's foundation, and the verbs that only look."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from struct import unpack_from
from typing import Any

from penstock.engine import (
    OLDEST_LANES,
    DeadFilter,
    EffectFilter,
    EffectName,
    EffectRecord,
    Finding,
    Flow,
    HistoryFilter,
    JobFilter,
    Level,
    Order,
    Parked,
    QueueState,
    Standing,
    WorkerInfo,
)
from penstock.engines.redis import flows, listing
from penstock.engines.redis.address import read_url
from penstock.engines.redis.codec import raw_id
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.instants import instant, now_by, number
from penstock.engines.redis.records import read_job, read_letter
from penstock.engines.redis.server import Server
from penstock.model.clock import Clock
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter, Job
from penstock.model.lanes import is_parked
from penstock.model.names import check_schema
from penstock.model.record import Record
from penstock.model.states import State

_DEAD = "dead"


class Inspection:
    """A server and a prefix; every verb here is bounded, and none changes anything."""

    def __init__(self, url: str, schema: str, clock: Clock) -> None:
        self.schema = check_schema(schema)
        self._clock = clock
        self._prefix = f"{{{schema}}}:".encode()
        self._connector = Connector(read_url(url))
        self._server = Server(self._connector, self._prefix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connector.address.shown}, schema={self.schema!r})"

    def _do(self, verb: str, /, *arguments: bytes) -> Coroutine[Any, Any, Any]:
        """Run a script that may be run twice without harm."""
        return self._server.run(verb, now_by(self._clock), *arguments, repeatable=True)

    def _do_once(self, verb: str, /, *arguments: bytes) -> Coroutine[Any, Any, Any]:
        """Run a script whose lost answer is the caller's to resolve."""
        return self._server.run(verb, now_by(self._clock), *arguments, repeatable=False)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        """Open for a moment, where it is not open anyway."""
        was_open = self._server.is_open
        self._server.open()
        try:
            yield
        finally:
            if not was_open:
                await self._server.close()

    async def _census(self) -> list[Finding]:
        """What is counted and not there was evicted or deleted by somebody."""
        told = await self._do("census")
        wrong = [
            f"{counted:,} {what} are counted, {there:,} are there"
            for what, counted, there in zip(("jobs", "delayed", "active"), told[::2], told[1::2], strict=True)
            if counted != there
        ]
        if not wrong:
            return [Finding("records", Level.OK, f"all {told[0]:,} jobs that are counted have their record")]
        lost = "keys of Penstock were evicted or deleted"
        return [Finding("records", Level.WARNING, f"{lost}: {'; '.join(wrong)}; a ledger brings them back")]

    async def get(self, job_id: str) -> Job | None:
        if not is_id(job_id):
            return None
        raw = raw_id(job_id)
        found = await self._do("get", raw)
        return None if found is None else read_job(raw, *found)

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        return await listing.jobs(self._do, where, limit, after)

    async def history(self, job_id: str) -> Record | None:
        job = await self.get(job_id)
        return Record.of(job) if job is not None and job.state.finished else None

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        return await listing.histories(self._do, where, limit, after)

    async def steps(self, job_id: str) -> dict[str, str]:
        if not is_id(job_id):
            return {}
        told = await self._do("steps", raw_id(job_id))
        found = [
            (unpack_from("<d", value), name, value) for name, value in zip(*[iter(told)] * 2, strict=True)
        ]
        return {name.decode(): value[8:].decode() for _, name, value in sorted(found)}

    async def flow(self, flow_id: str) -> Flow | None:
        return await flows.flow(self._do, flow_id)

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        return await flows.flows(self._do, limit, after)

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        return await listing.dead_letters(self._do, where, limit, after)

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        if not is_id(job_id):
            return None
        raw = raw_id(job_id)
        (found,) = await self._do("dead_letter", raw)
        return read_letter(raw, found) if found else None

    async def effects(
        self,
        where: EffectFilter,  # noqa: ARG002 - there are none
        limit: int,  # noqa: ARG002
        after: EffectName | None = None,  # noqa: ARG002
    ) -> list[EffectRecord]:
        """None: effects are recorded where they are made, and that is never here."""
        return []

    async def queues(self) -> list[QueueState]:
        return Counts(await self._do("queues", number(OLDEST_LANES))).queues()

    async def dead_count(self) -> int:
        return Counts(await self._do("queues", b"")).dead()

    async def unfinished_of(self, owner: str, most: int) -> int:
        count: int = await self._do("unfinished_of", owner.encode())
        return min(count, most)

    async def standing(self, job_id: str, most: int) -> Standing | None:
        ahead = await self._do("standing", raw_id(job_id)) if is_id(job_id) else None
        return None if ahead is None else Standing.counted(ahead, most)

    async def workers(self) -> list[WorkerInfo]:
        return read_workers(await self._do("workers"))

    async def parked(self) -> list[Parked]:
        return read_parked(await self._do("parked"))


class Counts:
    """What is counted, as `queues.lua` tells."""

    def __init__(self, answer: list[Any]) -> None:
        counts, queues, heads = answer
        self._numbers: dict[tuple[str, str], int] = {}  # by queue and state
        for field, n in zip(*[iter(counts)] * 2, strict=True):
            queue, _, state = field.decode().rpartition(":")
            self._numbers[queue, state] = int(n)
        self._paused = {name.decode(): flag == b"1" for name, flag in zip(*[iter(queues)] * 2, strict=True)}
        self._oldest = {
            name.decode(): instant(int(due)) for name, due in zip(*[iter(heads)] * 2, strict=True)
        }

    def queues(self) -> list[QueueState]:
        found: dict[str, dict[State, int]] = defaultdict(lambda: dict.fromkeys(State, 0))
        for (queue, state), n in self._numbers.items():
            if state != _DEAD:
                found[queue][State(state)] = n
        return [
            QueueState(queue, self._paused.get(queue, False), found[queue], self._oldest.get(queue))
            for queue in sorted({*self._paused, *found})
        ]

    def dead(self) -> int:
        return sum(n for (_, state), n in self._numbers.items() if state == _DEAD)


def read_parked(answer: list[Any]) -> list[Parked]:
    """The parked lanes among those that `parked.lua` tells."""
    found = []
    for lane, reason, jobs in zip(*[iter(answer)] * 3, strict=True):
        name = lane.decode()
        if is_parked(name):
            queue, task, *_ = name.split("?")
            found.append(Parked(name, queue, task, reason.decode(), jobs))
    return sorted(found)


def read_workers(answer: list[Any]) -> list[WorkerInfo]:
    """The workers that `workers.lua` tells."""
    now, *rows = answer
    found = [_worker(row, float(now)) for row in zip(*[iter(rows)] * 6, strict=True)]
    return sorted(found, key=lambda worker: (worker.started_at, worker.id))


def _worker(row: tuple[bytes, bytes, bytes, int, bytes, bytes], now: float) -> WorkerInfo:
    worker, until, about, active, ordered, memory = row
    (started,) = unpack_from("<d", about)
    told = json.loads(about[8:])
    expires = float(until)
    return WorkerInfo(
        id=worker.decode(),
        name=told["name"],
        queues=tuple(told["queues"]),
        slots=told["slots"],
        started_at=instant(started),
        expires_at=instant(expires) if expires else None,
        active=active,
        alive=expires > now,
        order=Order(ordered.decode()) if ordered else None,
        memory=int(memory) if memory else None,
    )
