"""Lent connections in a sandbox, whose jobs live in memory and in no database of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from penstock.app import Penstock
from penstock.lent import AsyncLent, Lent
from penstock.model.job import Enqueued, NewJob


class AtOnce:
    """Puts jobs in at once, whatever becomes of the transaction."""

    def __init__(self, app: Penstock) -> None:
        self._app = app

    def enqueue(self, _: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
        with ThreadPoolExecutor(1) as aside:  # a loop may be running here, which must not be waited for
            return aside.submit(lambda: asyncio.run(self._put(jobs, again))).result()

    async def aenqueue(self, _: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
        return await self._put(jobs, again)

    async def _put(self, jobs: Sequence[NewJob], again: bool) -> list[Enqueued]:
        return await self._app.engine.enqueue(jobs, again=again)
