"""A worker inside this very process: for development, a web server's lifespan, and tests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from penstock.model.errors import EngineError, WorkerStuck
from penstock.runtime.backoff import Backoff
from penstock.runtime.board import Board
from penstock.runtime.heart import Heart, HeartEngine
from penstock.runtime.host import WorkerHost
from penstock.runtime.safety import check_safety
from penstock.runtime.worker import Worker

log = logging.getLogger("penstock.worker")


class InProcessWorker:
    """The same worker as under a supervisor, except that its heartbeat is a thread of this process."""

    def __init__(self, host: WorkerHost, heart_engine: HeartEngine) -> None:
        self._host = host
        self._heart_engine = heart_engine
        self._worker: Worker | None = None
        self._draining = asyncio.Event()

    def drain(self, *, now: bool = False) -> None:
        """Stop claiming and finish; `now` hands running jobs back at once."""
        self._draining.set()
        if self._worker is not None:
            self._worker.drain(now=now)

    async def run(self, *, burst: bool = False) -> int:
        """Work until drained (or, with `burst`, until nothing is left); how many runs were settled.

        Also when it is cancelled it waits for `def` handlers that still run: nobody can stop a thread, and
        their jobs must not start elsewhere meanwhile. Cancelled again it leaves them to the end of its lease.

        Once it has begun it outlives every outage of the engine. WorkerStuck where too many handlers do not
        stop: nobody can end a thread, so this process must be replaced.
        """
        await check_safety(self._host.engine, self._host.options.accept)
        worker = await self._registered()
        settled = 0
        while worker is not None:
            await self._live(worker, burst=burst)
            settled += worker.settled
            # A worker that was given up begins again under a new id; one that was told to stop does not.
            begin_again = worker.expired and not worker.dismissed
            worker = await self._registered_again() if begin_again else None
        return settled

    async def _registered(self) -> Worker | None:
        """A new worker that others know of; None where there is no need any more."""
        if self._draining.is_set():
            return None
        options = self._host.options
        board = Board.private(options.slots, options.lease)
        worker = self._worker = Worker(self._host.engine, self._host.registry, options, board)
        board.beaten(time.monotonic())
        await self._host.engine.register(worker.info(), options.lease)
        return worker

    async def _registered_again(self) -> Worker | None:
        backoff = Backoff(cap=5.0)
        while True:
            try:
                return await self._registered()
            except EngineError as error:
                log.warning("the worker cannot begin again: %s; trying on", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(backoff.next()):
                        await self._draining.wait()

    async def _live(self, worker: Worker, *, burst: bool) -> None:
        """From registration to the end."""
        heart = Heart(worker, self._heart_engine)
        heart.start()
        try:
            await worker.run(burst=burst)
        except asyncio.CancelledError:
            worker.board.clear()  # the one who runs us has ended it: no job's doing
            raise
        finally:
            try:
                await worker.outlast()
            except asyncio.CancelledError:
                log.error("what worker %s still runs comes back when its lease is over", worker.id)
                raise
            else:
                await self._hand_back(worker)
            finally:
                await heart.stop()
        if worker.recycle and not self._draining.is_set():
            raise WorkerStuck(
                f"{worker.executor.stuck} handlers ran past their time and do not stop; start this process "
                "anew, give their tasks execute='process', or run `penstock worker`, which replaces processes"
            )

    async def _hand_back(self, worker: Worker) -> None:
        """What it still held is taken back at once; where that cannot be, when its lease is over."""
        engine, begun = self._host.engine, worker.board.begun()
        try:
            await worker.account.rescue(lambda judge: engine.rescue_worker(worker.id, begun, judge))
        except EngineError as error:
            log.warning("what worker %s held comes back when its lease is over: %s", worker.id, error)
        await worker.account.last_words()
