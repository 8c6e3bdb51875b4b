"""Jobs in one SQLite file: no server, full durability, several processes on one host."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from penstock.engine import (
    Claimed,
    DeadFilter,
    Finding,
    Flow,
    JobFilter,
    Judge,
    Orders,
    Parked,
    QueueState,
    Recovery,
    Rescued,
    Retention,
    Settled,
    Settlement,
    Want,
    WorkerInfo,
)
from penstock.engines.sqlite import (
    claim,
    enqueue,
    examine,
    flows,
    forks,
    inspection,
    operate,
    settle,
    steps,
    upkeep,
    workers,
)
from penstock.engines.sqlite.connection import check_synchronous
from penstock.engines.sqlite.failures import KnownId, typed_errors
from penstock.engines.sqlite.files import Files, check_place
from penstock.engines.sqlite.parts import Parts
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.store import Store
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import EngineError
from penstock.model.job import DeadLetter, Enqueued, Job, NewJob
from penstock.model.states import State

T = TypeVar("T")


class SqliteEngine:
    """The contract of `penstock.engine.Engine` on a file, or on a database in memory (`":memory:"`).

    Every write is a verb handed to one thread, which runs all that are queued in one transaction and
    acknowledges them after its commit. Reads and heartbeats have threads and connections of their own, so
    that they never wait for a writer.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock | None = None,
        synchronous: str = "FULL",
        allow_network: bool = False,
    ) -> None:
        self._files = Files.at(path)
        self._clock = clock or EngineClock()
        self._synchronous = check_synchronous(synchronous)
        self._allow_network = allow_network
        self._parts: Parts | None = None
        self._pid = 0

    # -- life -------------------------------------------------------------------------------------
    async def open(self) -> None:
        if self._parts is not None:
            self._current()
            return
        self._check_place()
        self._pid = os.getpid()
        with typed_errors(self._files.database):
            self._parts = await self._open_parts()

    async def _open_parts(self) -> Parts:
        opening = asyncio.ensure_future(
            asyncio.to_thread(Parts.open, self._files, self._clock, self._synchronous)
        )
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread goes on all the same, and what it opens would belong to nobody.
            with contextlib.suppress(Exception):
                (await opening).close()
            raise

    async def close(self) -> None:
        parts, self._parts = self._parts, None
        if parts is None or self._pid != os.getpid():
            return
        try:
            closed = asyncio.get_running_loop().run_in_executor(None, parts.close)
        except RuntimeError:  # the program ends and lends no more threads: nobody else needs this loop now
            parts.close()
        else:
            await closed

    async def migrate(self) -> list[str]:
        if self._files.in_memory:
            return []
        self._check_place()
        with typed_errors(self._files.database):
            return await asyncio.to_thread(self._migrate)

    async def examine(self) -> list[Finding]:
        forks.check(self._files.database)
        return await asyncio.to_thread(examine.examine, self._files, self._synchronous)

    # -- in ---------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
        if not jobs:
            return []
        try:
            return await self._write(lambda tx: enqueue.enqueue(tx, jobs, again=again))
        except KnownId:
            return await self._write(lambda tx: enqueue.enqueue(tx, jobs, again=True))

    # -- run --------------------------------------------------------------------------------------
    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        await self._write(lambda tx: workers.register(tx, worker, ttl))

    async def beat(self, worker: str, ttl: float) -> Orders:
        return await self._current().beats.run(lambda view: workers.beat(view, worker, ttl))

    async def claim(self, want: Want) -> Claimed:
        parts = self._current()
        parts.listen()
        marks = parts.wakes.marks(want.queues)
        claims = await parts.writer.run(lambda tx: claim.claim(tx, want))
        parts.wakes.looked(want, claims, marks)
        return Claimed(claims)

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        parts = self._current()
        marks = parts.wakes.marks(want.queues if want else ())
        settled = await parts.writer.run(lambda tx: settle.settle(tx, ends, want, again=again))
        if want:
            parts.wakes.looked(want, settled.claims, marks)
        return settled

    async def progress(self, job_id: str, token: str, progress: str) -> bool:
        return await self._write(lambda tx: settle.progress(tx, job_id, token, progress))

    async def save_step(self, job_id: str, token: str, name: str, value: str) -> bool:
        return await self._write(lambda tx: steps.save_step(tx, job_id, token, name, value))

    async def release(self, worker: str, request: str) -> int:
        return await self._write(lambda tx: settle.release(tx, worker, request))

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        parts = self._current()
        parts.listen()
        await parts.wakes.wait(queues, timeout)

    # -- upkeep -----------------------------------------------------------------------------------
    async def stage(self, limit: int) -> float | None:
        due = await self._read(upkeep.next_due)
        return due if due is None or due > 0 else await self._write(lambda tx: upkeep.stage(tx, limit))

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        if not await self._current().beats.run(workers.any_expired):
            return []
        return await self._write(lambda tx: workers.rescue(tx, limit, judge))

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        return await self._write(lambda tx: workers.rescue_worker(tx, worker, started, judge))

    async def expire(self, limit: int) -> int:
        if not await self._read(upkeep.any_past_expiry):
            return 0
        return await self._write(lambda tx: upkeep.expire(tx, limit))

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        return await self._write(lambda tx: upkeep.prune(tx, retention, limit, run))

    async def purge(self, older_than: float, limit: int) -> int:
        return await self._write(lambda tx: upkeep.purge(tx, older_than, limit))

    async def tidy(self) -> None:
        await self._write(upkeep.tidy)

    # -- operate ----------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        return await self._write(lambda tx: operate.cancel(tx, ids, reason))

    async def promote(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: operate.promote(tx, ids))

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        return await self._write(lambda tx: operate.reschedule(tx, ids, delay))

    async def delete(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: upkeep.remove(tx, ids))

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        return await self._write(lambda tx: operate.recover(tx, recoveries))

    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._write(lambda tx: operate.set_paused(tx, queue, paused))

    # -- inspect ----------------------------------------------------------------------------------
    async def get(self, job_id: str) -> Job | None:
        return await self._read(lambda view: inspection.get(view, job_id))

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        told = self._clock.now() is None  # ids are made by a host's clock, whatever a test's says
        return await self._read(lambda view: inspection.jobs(view, where, limit, after, ids_tell_time=told))

    async def steps(self, job_id: str) -> dict[str, str]:
        return await self._read(lambda view: steps.steps(view, job_id))

    async def flow(self, flow_id: str) -> Flow | None:
        return await self._read(lambda view: flows.flow(view, flow_id))

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        return await self._read(lambda view: flows.flows(view, limit, after))

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        return await self._read(lambda view: inspection.dead_letters(view, where, limit, after))

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        return await self._read(lambda view: inspection.dead_letter(view, job_id))

    async def queues(self) -> list[QueueState]:
        return await self._read(inspection.queues)

    async def dead_count(self) -> int:
        return await self._read(inspection.dead_count)

    async def workers(self) -> list[WorkerInfo]:
        return await self._current().beats.run(workers.workers)

    async def parked(self) -> list[Parked]:
        return await self._read(inspection.parked)

    # -- within -----------------------------------------------------------------------------------
    async def _write(self, verb: Callable[[Tx], T]) -> T:
        return await self._current().writer.run(verb)

    async def _read(self, look: Callable[[Session], T]) -> T:
        return await self._current().reads.run(look)

    def _current(self) -> Parts:
        """What this process opened. A forked child shares no connection with its parent."""
        if self._parts is None:
            raise EngineError("the engine is not open; call open() first")
        if self._pid != os.getpid():
            raise EngineError(
                "this engine was opened before a fork and belongs to the parent process; "
                "make a new engine in the child and open it there"
            )
        return self._parts

    def _check_place(self) -> None:
        if not self._files.in_memory:
            forks.check(self._files.database)
            check_place(self._files, allow_network=self._allow_network)

    def _migrate(self) -> list[str]:
        store = Store(self._files, self._clock, self._synchronous)
        try:
            return store.migrate()
        finally:
            store.close()
