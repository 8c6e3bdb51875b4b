"""One table's loop: take rows when there is room, take stuck ones back, end cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from penstock.model.errors import EngineError
from penstock.runtime.backoff import Backoff, jittered
from penstock.table.crew import Crew
from penstock.table.migration import check_ready, is_once
from penstock.table.run import Run
from penstock.table.settler import Settler
from penstock.table.store import Store
from penstock.table.values import Ending, Taken

log = logging.getLogger("penstock.table")

STEP = 500  # rows that upkeep touches at once
GATHER = 0.02  # seconds to wait for more room, so that rows are claimed by the batch
LAST_WORDS = 2.0  # seconds to write the ends of handlers that were stopped


class Runner:
    """Touched by one event loop only."""

    def __init__(self, store: Store, crew: Crew, grace: float) -> None:
        self._store = store
        self._table = store.table
        self._crew = crew
        self._grace = grace
        self._settler = Settler(store, crew)
        self._running: dict[asyncio.Task[None], Run] = {}
        self._upkeep_at = 0.0  # by time.monotonic()
        self._stirred = asyncio.Event()  # room, rows or the end: look again
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self.ended = 0  # rows whose run has ended

    async def check(self) -> None:
        """Refuse a table that cannot be worked on; warn where an output could be written twice."""
        shape = await self._crew.finish(self._store.shape)
        for step in check_ready(self._table, shape, self._store.dialect):
            if is_once(step):
                log.warning(
                    "table %s: nothing but Penstock keeps %s from having two rows for one source; "
                    "run `penstock table apply %s`, or:\n%s;",
                    self._table.name,
                    self._table.output,
                    self._table.name,
                    step.sql,
                )
            else:
                log.info("table %s: missing: %s;", self._table.name, step.sql)
        self._store.prepare(shape)

    def wake(self) -> None:
        """A row may have been queued."""
        self._stirred.set()

    def drain(self, *, now: bool = False) -> None:
        """Take no more rows and finish; `now` hands those that run back at once."""
        self._stopping.set()
        self._stirred.set()
        if now:
            self._now.set()

    async def run(self, *, burst: bool = False) -> None:
        """Until told to drain; with `burst`, until no row can be claimed. Outlives outages."""
        loop = asyncio.get_running_loop()

        def heard() -> None:
            loop.call_soon_threadsafe(self._stirred.set)

        listening = self._store.listen(heard)
        with listening or contextlib.nullcontext():
            try:
                await self._loop(burst=burst)
            finally:
                await self._finish()

    async def _loop(self, *, burst: bool) -> None:
        backoff = Backoff(first=0.2, cap=30.0)
        while not self._stopping.is_set():
            self._stirred.clear()
            try:
                more = await self.round()
            except Exception as error:
                known = isinstance(error, EngineError)
                log.warning(
                    "table %s: %s; trying on", self._table.name, error, exc_info=None if known else error
                )
                await self._pause(backoff.next())
                continue
            backoff.reset()
            if more:
                await self._room()
            elif burst and not self._running:
                return
            else:
                await self._pause(jittered(self._table.poll))

    async def round(self) -> bool:
        """Upkeep where it is due, and one claim; whether there may be more to claim."""
        if time.monotonic() >= self._upkeep_at:
            await self._upkeep()
        room = min(self._table.batch, self._table.concurrency - len(self._running))
        if room <= 0:
            return True
        claimed_at = time.monotonic()
        taken = await self._claim(room)
        if self._stopping.is_set():
            await self._release(taken)
            return False
        for row in taken:
            self._start(row, claimed_at)
        return len(taken) == room

    async def _upkeep(self) -> None:
        """Stuck rows and rows whose wait is over, in bounded steps."""
        recovered = await self._crew.finish(self._store.recover, STEP)
        staged = await self._crew.finish(self._store.stage, STEP)
        for row in recovered:
            log.warning("row %s of %s was stuck and is %s now", row.id, self._table.name, row.status)
        if max(len(recovered), staged) < STEP:
            self._upkeep_at = time.monotonic() + jittered(self._table.poll)

    async def _claim(self, limit: int) -> list[Taken]:
        claiming = asyncio.ensure_future(self._crew.do(self._store.claim, limit))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with contextlib.suppress(EngineError):
                await self._release(await claiming)
            raise

    async def _release(self, taken: list[Taken]) -> None:
        """Hand back what was not begun."""
        back = Ending(status=self._table.words.queued, refund=1)
        for row in taken:
            await self._crew.finish(self._store.end, row, back)

    def _start(self, taken: Taken, claimed_at: float) -> None:
        run = Run(self._store, self._crew, self._settler, taken, claimed_at)
        task = asyncio.create_task(run.live(), name=f"penstock table {self._table.name}")
        self._running[task] = run
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self.ended += 1
        self._stirred.set()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()

    async def _room(self) -> None:
        """Until a whole batch can be claimed, or a moment after the first slot is free."""
        enough = min(self._table.batch, self._table.concurrency)
        until: float | None = None
        while not self._stopping.is_set():
            free = self._table.concurrency - len(self._running)
            if free and until is None:
                until = time.monotonic() + GATHER
            if free >= enough or (until and time.monotonic() >= until):
                return
            self._stirred.clear()
            left = self._table.poll if until is None else until - time.monotonic()
            await self._pause(max(left, 0.001))

    async def _finish(self) -> None:
        """The grace period: handlers end by themselves, or are stopped and their rows handed back."""
        if self._running:
            told = asyncio.ensure_future(self._now.wait())
            everything = asyncio.ensure_future(asyncio.wait(list(self._running)))
            await asyncio.wait([told, everything], timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            everything.cancel()
        for task, run in list(self._running.items()):
            run.stopping = True
            task.cancel()
        if self._running:
            await asyncio.wait(list(self._running), timeout=LAST_WORDS)
