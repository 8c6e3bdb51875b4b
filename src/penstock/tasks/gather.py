"""Group enqueue: calls made at the same time share a commit, and a lone call waits for nobody."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from penstock.engine import Engine
from penstock.model.errors import EngineUnavailable, OutcomeUnknown
from penstock.model.job import Enqueued, NewJob

T = TypeVar("T")

MAX_BATCH = 5_000
DRAWN = 50  # calls that are made before the loop has its turn: an engine's answer waits for it
LET_IN = 250  # calls that are made before other threads have theirs
MOMENT = 0.000_001  # seconds; the kernel makes some fifty times that of it
MAX_BATCH_BYTES = 4 * 1_048_576
UNKNOWN_RETRIES = 5
FIRST_PAUSE = 0.05  # seconds before asking again after a lost reply; doubles each time


class _Waiting(NamedTuple):
    job: NewJob
    again: bool
    answer: asyncio.Future[Enqueued]


class Gatherer:
    """Two streams into one engine: a job with a given key may wait for a key's holder, others must not."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._plain = _Stream(engine)
        self._keyed = _Stream(engine)

    def put(self, job: NewJob, *, again: bool) -> Coroutine[Any, Any, Enqueued]:
        """Enqueue one job, together with whatever else arrives while the engine is busy."""
        return (self._keyed if job.unique else self._plain).put(job, again=again)

    async def put_many(self, jobs: Sequence[NewJob], *, again: bool) -> Sequence[Enqueued]:
        """Enqueue in order, in groups that are each all or nothing."""
        answers = [await _enqueue(self._engine, group, again=again) for group in in_groups(jobs)]
        return answers[0] if len(answers) == 1 else list(chain.from_iterable(answers))

    async def put_together(self, jobs: Sequence[NewJob], *, again: bool) -> Sequence[Enqueued]:
        """Enqueue all or none, in one call."""
        return await _enqueue(self._engine, jobs, again=again)

    async def drain(self) -> None:
        """Wait for what is in flight."""
        await self._plain.rested()
        await self._keyed.rested()


class _Stream:
    """Touched by one event loop only. One call to the engine is in flight at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: deque[_Waiting] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._busy = False
        self._rested: asyncio.Event | None = None  # where somebody waits for it

    async def rested(self) -> None:
        """Until what is in flight has landed."""
        if self._busy:
            self._rested = self._rested or asyncio.Event()
            await self._rested.wait()

    async def put(self, job: NewJob, *, again: bool) -> Enqueued:
        if self._busy:
            answer: asyncio.Future[Enqueued] = asyncio.get_running_loop().create_future()
            self._waiting.append(_Waiting(job, again, answer))
            return await answer
        self._busy = True
        try:
            return (await self._engine.enqueue([job], again=again))[0]
        except OutcomeUnknown as error:
            return (await _ask_again(self._engine, [job], error))[0]
        finally:
            self._go_on()

    def _go_on(self) -> None:
        if self._waiting:
            # A task of its own: the caller whose job was first may be cancelled, the others must not be.
            self._flushing = asyncio.create_task(self._flush())
        else:
            self._rest()

    def _rest(self) -> None:
        self._busy = False
        if self._rested is not None:
            self._rested.set()
            self._rested = None

    async def _flush(self) -> None:
        try:
            while self._waiting:
                await self._send(self._next_batch())
                await asyncio.sleep(0)  # who was answered just now may come again, and goes with the others
        finally:
            self._flushing = None
            self._rest()

    def _next_batch(self) -> list[_Waiting]:
        first = [waiting.job for waiting in islice(self._waiting, MAX_BATCH)]
        taken = [self._waiting.popleft() for _ in range(_fitting(first))]
        return [w for w in taken if not w.answer.done()]  # a caller that was cancelled wants no job

    async def _send(self, batch: list[_Waiting]) -> None:
        if not batch:
            return
        try:
            answers = await _enqueue(self._engine, [w.job for w in batch], again=any(w.again for w in batch))
        except EngineUnavailable as error:
            _fail(batch, error)
        except Exception as error:  # noqa: BLE001 - it travels to the callers
            if len(batch) == 1:
                _fail(batch, error)
                return
            # One bad row spoils a batch: alone, each job gets its own answer.
            for waiting in batch:
                await self._send([waiting])
        else:
            for waiting, answer in zip(batch, answers, strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(answer)


def _fail(batch: list[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)


def in_groups(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    """All jobs in order, as many at once as an engine should be given."""
    start = 0
    while start < len(jobs):
        group = jobs[start : start + _fitting(jobs[start : start + MAX_BATCH])]
        start += len(group)
        yield group


async def drawn(given: Iterable[T]) -> AsyncIterator[list[T]]:
    """What an iterator gives, a group at a time; the loop has its turn in between, often."""
    source = iter(given)
    group: list[T] = []
    while some := list(islice(source, DRAWN)):
        group += some
        if len(group) % LET_IN == 0:
            _let_threads_in()
        if len(group) >= MAX_BATCH:
            yield group
            group = []
        await asyncio.sleep(0)
    if group:
        yield group


def _let_threads_in() -> None:
    """Pause so long that a thread which waits for the interpreter has it.

    A loop that is never idle lets go of it now and then, but so briefly that nobody else gets hold of it; and
    each time a thread that waits begins to wait anew. SQLite's writer would stand still until all were drawn.
    """
    if threading.active_count() > 1:
        time.sleep(MOMENT)


def _fitting(jobs: Sequence[NewJob]) -> int:
    """How many of them make a group, by their bytes: at least one."""
    size = 0
    for many, job in enumerate(jobs):
        size += len(job.args)
        if size > MAX_BATCH_BYTES:
            return max(many, 1)
    return len(jobs)


async def _enqueue(engine: Engine, jobs: Sequence[NewJob], *, again: bool) -> Sequence[Enqueued]:
    try:
        return await engine.enqueue(jobs, again=again)
    except OutcomeUnknown as error:
        return await _ask_again(engine, jobs, error)


async def _ask_again(engine: Engine, jobs: Sequence[NewJob], unknown: OutcomeUnknown) -> Sequence[Enqueued]:
    """The reply was lost: enqueue them again, for the same ids are never doubled."""
    for attempt in range(UNKNOWN_RETRIES):
        await asyncio.sleep(FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.5))
        try:
            return await engine.enqueue(jobs, again=True)
        except OutcomeUnknown as error:
            unknown = error
        except EngineUnavailable:
            pass  # nothing happened this time; what became of the call before is still not known
    raise unknown
