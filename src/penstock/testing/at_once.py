"""Lent connections in a sandbox, whose jobs live in memory and in no database of the test's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from penstock.app import Penstock
from penstock.engine import Effect, Settlement
from penstock.engines.sqlite.held import HeldConnection
from penstock.lent import AsyncLent, Dialect, Lent
from penstock.model.clock import EngineClock
from penstock.model.job import Enqueued, NewJob
from penstock.outbox.effects import SatelliteEffects
from penstock.outbox.tables import plan

T = TypeVar("T")


class AtOnce:
    """Puts jobs in and settles runs at once, whatever becomes of the transaction.

    Effects are recorded in the test's own database, in a table that is made there where it is missing.
    """

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._effects = SatelliteEffects(EngineClock(), "sandbox")

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        if isinstance(lent.raw, HeldConnection):  # of ctx.transaction(): the engine's own
            return self._app.transactions.own().on_lent.enqueue(lent, jobs, again=again)
        return _aside(lambda: self._app.engine.enqueue(jobs, again=again))

    async def aenqueue(
        self, _: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False
    ) -> Sequence[Enqueued]:
        return await self._app.engine.enqueue(jobs, again=again)

    def settle(self, _: Lent, end: Settlement) -> bool:
        return _aside(lambda: self._app.engine.settle([end])).accepted[0]

    async def asettle(self, _: AsyncLent, end: Settlement) -> bool:
        return (await self._app.engine.settle([end])).accepted[0]

    def once(self, lent: Lent, effect: Effect) -> bool:
        for statement in _tables(lent.dialect):
            lent.fetch(statement)
        return self._effects.once(lent, effect)

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool:
        for statement in _tables(lent.dialect):
            await lent.fetch(statement)
        return await self._effects.aonce(lent, effect)


def _aside(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """In a thread: a loop may be running here, which must not be waited for."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(lambda: asyncio.run(work())).result()


def _tables(dialect: Dialect) -> list[str]:
    """What makes the table of effects, one statement at a time."""
    bare = re.sub(r"--.*", "", plan(dialect))
    return [statement for statement in bare.split(";") if "penstock_effects" in statement]
