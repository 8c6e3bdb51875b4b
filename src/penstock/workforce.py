"""Workers for people: which there are, which were lost, and telling one to be quiet or to stop."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.audit import Audit
from penstock.engine import Engine, Order, WorkerInfo
from penstock.model.errors import ActionRefused, JobNotFound
from penstock.telemetry.gone import Gone, gone

_ACTIONS = {Order.QUIET: "worker quiet", Order.STOP: "worker stop", None: "worker resume"}


class Workforce:
    """Everything a person may ask of workers, or do with them."""

    def __init__(self, engine: Engine, audit: Audit) -> None:
        self._engine = engine
        self._audit = audit

    async def lost(self) -> list[Gone]:
        """Those that were lost in the last hour, the latest first."""
        return await gone(self._engine)

    async def order(self, worker: str, order: Order | None, why: str | None = None) -> WorkerInfo:
        """Tell a worker, by its id or its name, to claim nothing more, to stop, or, None, to go on.

        It hears of it with its next heartbeat. One that was told to stop does so.
        """
        found = _one(await self._engine.workers(), worker)
        async with self._audit.action(_ACTIONS[order], found.id, why) as change:
            change.before = {"name": found.name, "order": found.order}
            if found.order is Order.STOP and order is not Order.STOP:
                raise ActionRefused(f"worker {found.name} was told to stop, and does: start another")
            if not await self._engine.order_worker(found.id, order):
                raise ActionRefused(f"worker {found.name} is not alive any more")
            change.after = {"name": found.name, "order": order}
        return found


def _one(workers: Sequence[WorkerInfo], wanted: str) -> WorkerInfo:
    found = [worker for worker in workers if wanted in (worker.id, worker.name)]
    if len(found) > 1:
        raise ActionRefused(f"{len(found)} workers are named {wanted!r}; give the id of one")
    if not found:
        there = ", ".join(worker.name for worker in workers) or "none"
        raise JobNotFound(f"there is no worker {wanted!r}; there are: {there}")
    return found[0]
