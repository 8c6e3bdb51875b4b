"""The lines from a running handler to its worker: on the loop, or from a thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import CancelledError

from penstock.engine import Engine
from penstock.model.errors import EngineError
from penstock.model.job import Claim
from penstock.runtime.board import Board
from penstock.runtime.running import Running, Stop
from penstock.tasks.context import progress_text

log = logging.getLogger("penstock.worker")

PROGRESS_PATIENCE = 2.0  # seconds that a run waits for its progress to be stored


class Lines:
    """Makes the line of each run, and carries what comes over it to the engine."""

    def __init__(self, engine: Engine, board: Board, worker: str) -> None:
        self._engine = engine
        self.board = board
        self.worker = worker

    def line(self, running: Running) -> Line:
        return Line(self, running)

    async def send(self, claim: Claim, progress: str) -> None:
        # Progress is for people who watch: not being able to store it must not fail the work.
        try:
            storing = self._engine.progress(claim.id, claim.token, progress)
            accepted = await asyncio.wait_for(storing, PROGRESS_PATIENCE)
        except (EngineError, TimeoutError) as error:
            log.warning("progress of job %s not stored: %s", claim.id, str(error) or "no answer in time")
        else:
            if not accepted:
                log.warning("progress of job %s refused: it had passed on", claim.id)


class Line:
    """The line of a handler that runs in the worker's own process."""

    __slots__ = ("_lines", "_loop", "_running")

    def __init__(self, lines: Lines, running: Running) -> None:
        self._lines = lines
        self._running = running
        self._loop = running.loop

    @property
    def claim(self) -> Claim:
        return self._running.claim

    @property
    def worker(self) -> str:
        return self._lines.worker

    @property
    def deadline(self) -> float | None:
        return self._running.deadline

    def lease_lost(self) -> bool:
        return self._lines.board.lost()

    def cancelled(self) -> bool:
        return self._running.stop in (Stop.CANCEL, Stop.SHUTDOWN)

    async def progress(self, percent: float, message: str) -> None:
        await self._lines.send(self.claim, progress_text(percent, message))

    def progress_sync(self, percent: float, message: str) -> None:
        text = progress_text(percent, message)
        if self._loop.is_closed():  # the worker is gone, and left this thread behind
            return
        sending = asyncio.run_coroutine_threadsafe(self._lines.send(self.claim, text), self._loop)
        # Somebody may block the loop, or end it.
        with contextlib.suppress(TimeoutError, CancelledError):
            sending.result(PROGRESS_PATIENCE)
