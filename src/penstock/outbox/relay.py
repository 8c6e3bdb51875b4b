"""The relay: brings what is in the outbox to the engine, round after round, through every outage."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar

from penstock import crash_points
from penstock.engine import Engine
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.outbox.dispatch import EngineAway, dispatch
from penstock.outbox.store import Row, Store, Verdict
from penstock.outbox.telling import Outage, Progress, about_other
from penstock.runtime.backoff import Backoff, jittered

log = logging.getLogger("penstock.relay")

T = TypeVar("T")

LOOK_AHEAD = 1.0  # seconds between looks at the outbox; wake-ups are hints
PRUNE_EVERY = 60.0
PRUNE_STEP = 1_000
LONGEST_PAUSE = 3.0  # seconds between tries during an outage

OpenEngine = Callable[[], AbstractAsyncContextManager[Engine]]


class Relay:
    """Any number may work on one outbox. What one has begun when it dies another does again: the same ids.

    Touched by one event loop only.
    """

    def __init__(self, store: Store, open_engine: OpenEngine, keep_for: float) -> None:
        self._store = store
        self._open_engine = open_engine
        self._keep_for = keep_for
        self._engine: Engine | None = None
        self._stopping = asyncio.Event()
        self._living: asyncio.Future[None] | None = None
        self._prune_at = time.monotonic()
        self._unpruned: set[str] = set()  # of which it was told that they cannot be
        self._told: set[str] = set()  # of whose rows it was said that they wait
        self._backoff = Backoff(first=0.1, cap=LONGEST_PAUSE)
        self._engine_outage = Outage("the engine")
        self._outbox_outage = Outage("the database of the outbox")
        self._progress = Progress()

    @property
    def dispatched(self) -> int:
        """How many rows it has brought to the engine."""
        return self._progress.dispatched

    @property
    def refused(self) -> int:
        """How often the engine did not take a row as it was."""
        return self._progress.refused

    def drain(self) -> None:
        """Finish the round and end. Told twice, end at once: what is under way is done again by others."""
        if self._stopping.is_set() and self._living is not None:
            self._living.cancel()
        self._stopping.set()

    async def run(self, *, burst: bool = False) -> int:
        """Work until drained; how many rows were dispatched.

        What cannot be reached is waited for. What no waiting mends (no table, no right, a wrong URL) is
        raised, unless work had begun. With `burst` it ends when nothing is due, and waits for nothing.
        """
        living = self._living = asyncio.ensure_future(self._burst() if burst else self._live())
        try:
            await asyncio.wait({living})
        except asyncio.CancelledError:
            living.cancel()
            await asyncio.wait({living})
            raise
        finally:
            await self._store.close()
        if not living.cancelled():
            living.result()
        return self.dispatched

    async def _burst(self) -> None:
        await self._store.open()
        async with self._open_engine() as self._engine:
            while not self._stopping.is_set() and await self.round():
                pass

    async def _live(self) -> None:
        async with AsyncExitStack() as closing:
            await self._patiently(self._store.open, self._outbox_outage)
            opening = lambda: closing.enter_async_context(self._open_engine())  # noqa: E731
            self._engine = await self._patiently(opening, self._engine_outage)
            while not self._stopping.is_set():
                await self._try_round()

    async def _patiently(self, open_it: Callable[[], Awaitable[T]], outage: Outage) -> T | None:
        """Until it is open; None where there is no need any more."""
        while not self._stopping.is_set():
            try:
                opened = await open_it()
            except EngineUnavailable as error:
                outage.begin(error)
                await self._pause(self._backoff.next())
            else:
                self._well(outage)
                return opened
        return None

    async def _try_round(self) -> None:
        try:
            more = await self.round()
        except EngineAway as error:
            self._engine_outage.begin(error)
            await self._pause(self._backoff.next())
        except EngineError as error:
            self._outbox_outage.begin(error)
            await self._pause(self._backoff.next())
        except Exception:
            log.exception("relaying failed; trying again later")
            await self._pause(jittered(LONGEST_PAUSE))
        else:
            self._well(self._outbox_outage)
            if not more:
                await self._unless_stopped(self._wait())

    def _well(self, outage: Outage) -> None:
        outage.end()
        self._backoff.reset()

    # -- one round ------------------------------------------------------------------------------------
    async def round(self) -> bool:
        """Dispatch what is due, once; whether there may be more."""
        served = await self._store.serve(self._dispatch)
        crash_points.passing("outbox-served")
        self._progress.add(served.verdict)
        if time.monotonic() >= self._prune_at:
            await self._prune()
        return served.more

    async def _dispatch(self, rows: Sequence[Row]) -> Verdict:
        assert self._engine is not None
        crash_points.passing("outbox-taken")
        verdict = await dispatch(self._engine, rows)
        crash_points.passing("outbox-dispatched")
        self._engine_outage.end()
        return verdict

    async def _prune(self) -> None:
        """What is not removed is in nobody's way: dispatching goes on, whatever becomes of this."""
        removed = [
            await self._try_pruning("rows", lambda: self._store.prune(self._keep_for, PRUNE_STEP)),
            await self._try_pruning("effects", lambda: self._store.prune_effects(PRUNE_STEP)),
        ]
        await self._look_for_others()
        full = max(removed) >= PRUNE_STEP
        self._prune_at = time.monotonic() + (0.0 if full else jittered(PRUNE_EVERY))

    async def _try_pruning(self, what: str, prune: Callable[[], Awaitable[int]]) -> int:
        try:
            return await prune()
        except EngineError as error:
            if what not in self._unpruned:
                log.warning("old %s in the database of the outbox are not removed: %s", what, error)
                self._unpruned.add(what)
            return 0

    async def _look_for_others(self) -> None:
        """Rows that no relay of this app will bring: somebody should know."""
        with contextlib.suppress(EngineError):
            for other in (await self._store.status()).others:
                if other.destination not in self._told:
                    self._told.add(other.destination)
                    log.warning("%s", about_other(other))

    # -- waiting --------------------------------------------------------------------------------------
    async def _wait(self) -> None:
        with contextlib.suppress(EngineError):  # the next round will say so
            await self._store.wait(jittered(LOOK_AHEAD))

    async def _pause(self, seconds: float) -> None:
        await self._unless_stopped(asyncio.sleep(seconds))

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, None]) -> None:
        stopped = asyncio.ensure_future(self._stopping.wait())
        waited = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({stopped, waited}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            waited.cancel()
            await asyncio.wait({waited})
