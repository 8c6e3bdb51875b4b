"""Tells the feed what happens, while somebody listens: a worker's half and a client's half."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Sequence

from penstock.engine import Engine, JobEvent
from penstock.feed import events
from penstock.feed.listening import (
    CLIENTS_LOOK_EVERY,
    break_off,
    jittered,
    somebody_listens,
)
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown, PenstockError
from penstock.model.job import Enqueued, NewJob

log = logging.getLogger("penstock.feed")

MAX_WAITING = 10_000  # events not published yet; beyond it they are dropped, and counted
BATCH = 500  # events in one call
GATHER = 0.1  # seconds between batches of a worker
ADDED_WITHIN = 0.05  # seconds that what a client tells waits for more
AWAY = 1.0  # seconds before the engine is asked again
LAST_WORDS = 1.0  # seconds for what is not told yet at the end


class Publisher:
    """A bounded line into the feed. Touched by one event loop only."""

    def __init__(self, engine: Engine) -> None:
        self.on = False  # somebody listens: the one thing to look at where jobs run
        self.dropped = 0
        self._engine = engine
        self._waiting: deque[JobEvent] = deque()
        self._gap = False  # something was dropped since the last batch

    def tell(self, event: JobEvent) -> None:
        """Publish it soon. At no cost to the caller, also when the engine is away."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(event)
        else:
            self._drop(1)

    async def look(self) -> None:
        """Find out whether somebody listens; as before, where the engine does not say."""
        with contextlib.suppress(EngineError):
            self.on = await somebody_listens(self._engine)
        if not self.on:
            self._waiting.clear()

    async def is_heard(self) -> bool:
        """Whether somebody listens now."""
        await self.look()
        return self.on

    async def flush(self) -> None:
        """Publish what waits; EngineUnavailable where it goes on waiting."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            try:
                await self._engine.publish(batch)
            except PenstockError as error:
                if isinstance(error, EngineUnavailable) and not isinstance(error, OutcomeUnknown):
                    self._waiting.extendleft(reversed(batch))
                    raise
                # It may have been done: told twice would be worse than told that something is missing.
                log.warning("%d events of jobs not told: %s", len(batch), error)
                self._drop(len(batch))
        if self._gap:
            await break_off(self._engine)
            self._gap = False

    async def last_words(self) -> None:
        """Publish what waits, if that can be done at once."""
        with contextlib.suppress(EngineError, TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self.flush()

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._gap = True


async def tell_at_once(engine: Engine, told: Sequence[JobEvent]) -> None:
    """What somebody has just done, if somebody listens. As well as can be: it is done all the same."""
    with contextlib.suppress(PenstockError):
        if told and await somebody_listens(engine):
            for first in range(0, len(told), BATCH):
                await engine.publish(told[first : first + BATCH])


class WorkerPublisher(Publisher):
    """Is told whether somebody listens with each heartbeat, so that a job's first event is not late."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._something = asyncio.Event()
        self._told: deque[JobEvent] = deque()  # since the last look: they wait until the next

    def tell(self, event: JobEvent) -> None:
        if len(self._waiting) + len(self._told) < MAX_WAITING:
            self._told.append(event)
        else:
            self._drop(1)
        self._something.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._publish()

    def watched(self, on: bool) -> None:
        """Somebody listens, or nobody does."""
        self.on = on
        if not on:
            self._waiting.clear()
            self._told.clear()

    async def is_heard(self) -> bool:
        return self.on

    async def last_words(self) -> None:
        if self._told:
            await asyncio.sleep(GATHER)  # for the client that has put the job in to tell of that first
        self._ripen()
        await super().last_words()

    async def _publish(self) -> None:
        if not (self._told or self._waiting):
            self._something.clear()
            await self._something.wait()
        # Each event waits for at least as long as a client takes to tell of the job that it has put in.
        await asyncio.sleep(GATHER)
        try:
            await self.flush()
        except EngineUnavailable:
            await asyncio.sleep(AWAY)
        self._ripen()

    def _ripen(self) -> None:
        self._waiting.extend(self._told)
        self._told.clear()


class ClientPublisher(Publisher):
    """Looks only when there is something to tell: a program that puts nothing in asks nothing."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._look_at = 0.0
        self._telling: asyncio.Task[None] | None = None
        self._unsure: list[tuple[Sequence[NewJob], Sequence[Enqueued]]] = []  # whether anybody wants to know

    def added(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        """These are in. On the engine's loop; returns at once."""
        if not self.on and time.monotonic() < self._look_at:
            return
        if self.on:
            self._tell_of(jobs, answers)
        else:
            self._unsure.append((jobs, answers))
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_all())

    def _tell_of(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        for job, answer in zip(jobs, answers, strict=True):
            if not answer.duplicate:
                self.tell(events.added(job))

    async def look(self) -> None:
        await super().look()
        unsure, self._unsure = self._unsure, []
        if self.on:
            for jobs, answers in unsure:
                self._tell_of(jobs, answers)

    async def _tell_all(self) -> None:
        try:
            while self._waiting or self._unsure:
                await asyncio.sleep(ADDED_WITHIN)
                if self._unsure or time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + jittered(CLIENTS_LOOK_EVERY)
                    await self.look()
                await self._try_to_flush()
        finally:
            self._telling = None

    async def _try_to_flush(self) -> None:
        try:
            await self.flush()
        except EngineUnavailable:
            await asyncio.sleep(AWAY)

    async def close(self) -> None:
        """Tell the rest, or leave it."""
        telling = self._telling
        if telling is not None:
            await asyncio.wait({telling}, timeout=LAST_WORDS)
            telling.cancel()
            await asyncio.wait({telling})
