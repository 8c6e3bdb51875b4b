"""Work on the rows of the user's tables inside this process: beside a web server, a worker, or alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Self

from penstock.table.crew import Crew
from penstock.table.declared import Table
from penstock.table.runner import Runner
from penstock.table.store import Store

log = logging.getLogger("penstock.table")


class TableWorker:
    """`await worker.run()` until `drain()`, or `async with worker:` around what else the process does.

    Any number of processes may do so at once. One use each.
    """

    def __init__(self, tables: Sequence[Table], open_store: Callable[[Table], Store], grace: float) -> None:
        self._tables = tuple(tables)
        self._open_store = open_store
        self._grace = grace
        self._crew = Crew()
        self._stores: list[Store] = []
        self._runners: list[Runner] = []
        self._asked: bool | None = None  # to drain, before anything ran; True: at once
        self._running: asyncio.Task[int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(table.name for table in self._tables)

    def wake(self) -> None:
        """Look for rows now: to be called where this process itself has queued one."""
        for runner in self._runners:
            runner.wake()

    def drain(self, *, now: bool = False) -> None:
        """Take no more rows; those that run may finish within the grace period, or are handed back `now`."""
        self._asked = now or bool(self._asked)
        for runner in self._runners:
            runner.drain(now=now)

    async def run(self, *, burst: bool = False) -> int:
        """Work until drained (or, with `burst`, until no row can be claimed); how many runs have ended.

        SchemaMissing, with the SQL, where a table lacks what is needed. Once begun it outlives every outage.
        """
        try:
            await self.open()
            return await self.work(burst=burst)
        finally:
            await self.close()

    async def open(self) -> None:
        """Look at every table, and refuse what cannot be worked on."""
        for table in self._tables:
            store = self._open_store(table)
            self._stores.append(store)
            runner = Runner(store, self._crew, self._grace)
            await runner.check()
            self._runners.append(runner)
        if self._tables:
            log.info("working on the rows of %s", ", ".join(self.names))

    async def close(self) -> None:
        for store in self._stores:
            await self._crew.finish(store.close)
        self._crew.close()

    async def work(self, *, burst: bool = False) -> int:
        """Between `open` and `close`: what `run` does."""
        if self._asked is not None:
            self.drain(now=self._asked)
        async with asyncio.TaskGroup() as group:
            for runner in self._runners:
                group.create_task(runner.run(burst=burst))
        return sum(runner.ended for runner in self._runners)

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        self._running = asyncio.create_task(self.work(), name="penstock tables")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._running is not None
        self.drain()
        try:
            await self._running
        finally:
            await self.close()
