"""Jobs in one SQLite file: no server, full durability, several processes on one host."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine import (
    Claimed,
    Expired,
    Judge,
    Order,
    Orders,
    Outlook,
    Recovery,
    Rescued,
    Retention,
    Rhythm,
    Settled,
    Settlement,
    Want,
    WorkerInfo,
)
from penstock.engines.sqlite import claim, effects, enqueue, operate, settle, steps, upkeep, workers
from penstock.engines.sqlite.asked import Asked
from penstock.engines.sqlite.declared import Declared
from penstock.engines.sqlite.ends import Ends
from penstock.engines.sqlite.failures import KnownId
from penstock.engines.sqlite.kept import Kept
from penstock.model.job import Enqueued, NewJob
from penstock.model.states import State


class SqliteEngine(Asked, Declared, Kept):
    """The contract of `penstock.engine.Engine` on a file, or on a database in memory (`":memory:"`).

    Every write is a verb handed to one thread, which runs all that are queued in one transaction and
    acknowledges them after its commit. Reads and heartbeats have threads and connections of their own, so
    that they never wait for a writer.
    """

    rhythm = Rhythm()

    # -- in ---------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        if not jobs:
            return []
        try:
            return await self._write(lambda tx: enqueue.enqueue(tx, jobs, again=again))
        except KnownId:
            return await self._write(lambda tx: enqueue.enqueue(tx, jobs, again=True))

    # -- run --------------------------------------------------------------------------------------
    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        await self._write(lambda tx: workers.register(tx, worker, ttl))

    async def beat(self, worker: str, ttl: float, memory: int | None = None) -> Orders:
        return await self._current().beats.run(lambda view: workers.beat(view, worker, ttl, memory))

    async def claim(self, want: Want) -> Claimed:
        parts = self._current()
        parts.listen()
        marks = parts.wakes.marks(want.queues)
        claimed = (await parts.writer.run(lambda tx: claim.claim(tx, want))).read()
        parts.wakes.looked(want, claimed.claims, marks)
        return claimed

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        parts = self._current()
        marks = parts.wakes.marks(want.queues if want else ())
        told = Ends(ends)
        settled = (await parts.writer.run(lambda tx: settle.settle(tx, told, want, again=again))).read()
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

    async def claim_next(self, want: Want, timeout: float) -> Claimed:
        await self.wait(list(want.queues), timeout)
        return await self.claim(want)

    # -- upkeep -----------------------------------------------------------------------------------
    async def outlook(self) -> Outlook:
        return await self._read(upkeep.outlook)

    async def stage(self, limit: int) -> float | None:
        due = await self._read(upkeep.next_due)
        return due if due is None or due > 0 else await self._write(lambda tx: upkeep.stage(tx, limit))

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        if not await self._current().beats.run(workers.any_expired):
            return []
        return await self._write(lambda tx: workers.rescue(tx, limit, judge))

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        return await self._write(lambda tx: workers.rescue_worker(tx, worker, started, judge))

    async def expire(self, limit: int) -> list[Expired]:
        if not await self._read(upkeep.any_past_expiry):
            return []
        return await self._write(lambda tx: upkeep.expire(tx, limit))

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        return await self._write(lambda tx: upkeep.prune(tx, retention, limit, run))

    async def purge(self, older_than: float, limit: int) -> int:
        return await self._write(lambda tx: upkeep.purge(tx, older_than, limit))

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        return await self._write(lambda tx: upkeep.forget(tx, keep, older_than, limit))

    async def forget_effects(self, limit: int) -> int:
        if not await self._read(effects.any_passed):
            return 0
        return await self._write(lambda tx: effects.forget(tx, limit))

    async def reconcile(self, limit: int, after: str | None = None) -> None:
        """There is no ledger beside it."""

    async def tidy(self, unshelved: Sequence[str] = ()) -> None:
        await self._write(lambda tx: upkeep.tidy(tx, unshelved))

    # -- operate ----------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        return await self._write(lambda tx: operate.cancel(tx, ids, reason))

    async def promote(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: operate.promote(tx, ids))

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        return await self._write(lambda tx: operate.reschedule(tx, ids, delay))

    async def delete(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: upkeep.delete(tx, ids))

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        return await self._write(lambda tx: operate.recover(tx, recoveries))

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: upkeep.remove_dead_letters(tx, ids))

    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._write(lambda tx: operate.set_paused(tx, queue, paused))

    async def order_worker(self, worker: str, order: Order | None) -> bool:
        return await self._write(lambda tx: workers.order(tx, worker, order))
