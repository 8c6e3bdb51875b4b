"""A worker inside this very process: for development, a web server's lifespan, and tests."""

from __future__ import annotations

import time

from penstock.model.decide import judge
from penstock.runtime.board import Board
from penstock.runtime.heart import Heart, HeartEngine
from penstock.runtime.host import WorkerHost
from penstock.runtime.safety import check_safety
from penstock.runtime.worker import Worker


class InProcessWorker:
    """The same worker as under a supervisor, except that its heartbeat is a thread of this process."""

    def __init__(self, host: WorkerHost, heart_engine: HeartEngine) -> None:
        self._host = host
        self._heart_engine = heart_engine
        self._worker: Worker | None = None
        self._draining = False

    def drain(self, *, now: bool = False) -> None:
        """Stop claiming and finish; `now` hands running jobs back at once."""
        self._draining = True
        if self._worker is not None:
            self._worker.drain(now=now)

    async def run(self, *, burst: bool = False) -> int:
        """Work until drained (or, with `burst`, until nothing is left); how many runs were settled."""
        await check_safety(self._host.engine, self._host.options.accept)
        settled = 0
        while not self._draining:
            worker = await self._live_once(burst=burst)
            settled += worker.settled
            if not worker.expired:
                break
        return settled

    async def _live_once(self, *, burst: bool) -> Worker:
        """From registration to the end; a worker that was given up begins again under a new id."""
        host = self._host
        board = Board.private(host.options.slots, host.options.lease)
        worker = self._worker = Worker(host.engine, host.registry, host.options, board)
        board.beaten(time.monotonic())
        await host.engine.register(worker.info(), host.options.lease)
        heart = Heart(worker, self._heart_engine)
        heart.start()
        try:
            await worker.run(burst=burst)
        finally:
            await heart.stop()
            await host.engine.rescue_worker(worker.id, board.begun(), judge)
        return worker
