"""An engine with a ledger beside it: see the package's text for what is written when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.engine import Expired, Judge, Reconciled, Rescued, Retention, Rhythm
from penstock.ledger.lost_ends import LostEnds
from penstock.ledger.operating import Operating
from penstock.ledger.reconcile import Reconciler
from penstock.ledger.running import Running


class LedgeredEngine(Running, Operating):
    """The contract of `penstock.engine.Engine`, where the ledger is the authority."""

    rhythm = Rhythm()

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        return await self._rescued(await (await self._engine()).rescue(limit, judge))

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        return await self._rescued(await (await self._engine()).rescue_worker(worker, started, judge))

    async def _rescued(self, rescued: list[Rescued]) -> list[Rescued]:
        await self._books.take_back(rescued)
        await self._end_of(job.id for job in rescued if job.state.finished)
        return rescued

    async def expire(self, limit: int) -> list[Expired]:
        """The rows of what has expired are ended by the reconciler, as those of jobs that ended with them."""
        return await (await self._engine()).expire(limit)

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        removed = await (await self._engine()).prune(retention, limit, run=run)
        await self._books.release_keys(retention, limit)
        return removed

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        removed = await super().remove_schedules(ids)
        await self._books.unshelve(ids)
        return removed

    async def purge(self, older_than: float, limit: int) -> int:
        """How many the engine had, or had lost."""
        return max(await super().purge(older_than, limit), await self._books.purge(older_than, limit))

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        return await self._books.forget(keep, older_than, limit)

    async def reconcile(self, limit: int, after: str | None = None) -> Reconciled:
        await self.give_back()
        engine = await self._engine()
        again, ended = await LostEnds(self._books, engine).tell(await self._whose(after))
        done = await Reconciler(self._books, engine).step(limit, after)
        return done._replace(restored=done.restored + again, ended=done.ended + ended)

    async def _whose(self, after: str | None) -> Iterable[str]:
        """Each looks at what its own workers hold; who has none, an operator, once at all."""
        if self._claims_for or after is not None:
            return self._claims_for
        return [worker.id for worker in await self.workers()]
