"""The lines from a running handler to its worker: on the loop, from a thread, or from a child process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import CancelledError
from typing import Any

from penstock.engine import Engine, Settlement
from penstock.model.errors import EngineError, EngineUnavailable
from penstock.model.job import Claim, NewJob
from penstock.runtime.account import Account
from penstock.runtime.board import Board
from penstock.runtime.errands import do_errand
from penstock.runtime.logbook import Logbook
from penstock.runtime.running import Running, Stop
from penstock.runtime.wire import Terms
from penstock.tasks.errands import Errand
from penstock.tasks.joblog import Line as LogLine
from penstock.tasks.run_link import progress_text

log = logging.getLogger("penstock.worker")

PROGRESS_PATIENCE = 2.0  # seconds that a run waits for its progress to be stored
LOOK = 0.5  # seconds between looks whether the loop that does an errand still runs


class Lines:
    """Makes the line of each run, and carries what comes over it to the engine."""

    def __init__(
        self, engine: Engine, board: Board, worker: str, account: Account, unkept: frozenset[str]
    ) -> None:
        self._engine = engine
        self.account = account
        self.board = board
        self.worker = worker
        self._logbook = Logbook(engine)
        self._unkept = unkept  # queues whose completed jobs leave no record

    def logged(self, running: Running, lines: list[LogLine]) -> None:
        running.logged = lines
        self._logbook.add(running.claim, lines)

    async def close(self) -> None:
        """Write what was logged last."""
        await self._logbook.close()

    def keeps(self, claim: Claim) -> bool:
        return claim.queue not in self._unkept

    def line(self, running: Running) -> Line:
        return Line(self, running)

    def solo_line(self, running: Running) -> SoloLine:
        return SoloLine(self, running)

    async def do(self, claim: Claim, errand: Errand) -> Any:
        return await do_errand(self._engine, claim, errand)

    async def send(self, claim: Claim, progress: str) -> None:
        # Progress is for people who watch: not being able to store it must not fail the work.
        try:
            async with asyncio.timeout(PROGRESS_PATIENCE):
                accepted = await self._engine.progress(claim.id, claim.token, progress)
        except (EngineError, TimeoutError) as error:
            log.warning("progress of job %s not stored: %s", claim.id, str(error) or "no answer in time")
        else:
            if accepted:
                self.account.progressed(claim, progress)
            else:
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

    @property
    def lease(self) -> float:
        return self._lines.board.ttl

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

    async def do(self, errand: Errand) -> Any:
        return await self._lines.do(self.claim, errand)

    def do_sync(self, errand: Errand) -> Any:
        if self._loop.is_closed():
            raise EngineUnavailable("the worker of this run is gone")
        doing = asyncio.run_coroutine_threadsafe(self._lines.do(self.claim, errand), self._loop)
        while True:
            try:
                return doing.result(LOOK)
            except CancelledError:
                raise EngineUnavailable("the worker of this run has ended") from None
            except TimeoutError:
                if doing.done():
                    raise
                if not self._loop.is_running():
                    raise EngineUnavailable("the worker of this run has ended") from None

    def follow(self, job: NewJob) -> None:
        self._running.follow(job)

    def logged(self, lines: list[LogLine]) -> None:
        self._running.logged = lines
        with contextlib.suppress(RuntimeError):  # the worker is gone, and left this thread behind
            self._loop.call_soon_threadsafe(self._lines.logged, self._running, lines)

    def completion(self, value: Any) -> Settlement:
        return self._running.completion(value, keep=self._lines.keeps(self.claim))

    def committed(self, *, answered: bool) -> None:
        self._running.commit(answered=answered)


class SoloLine:
    """The worker's end of the line to a handler in a child process."""

    __slots__ = ("_lines", "_running")

    def __init__(self, lines: Lines, running: Running) -> None:
        self._lines = lines
        self._running = running

    @property
    def terms(self) -> Terms:
        return Terms(self._lines.worker, self._lines.board.ttl, self._lines.keeps(self._running.claim))

    def begin(self) -> None:
        self._running.begin()
        self._lines.account.started(self._running.claim)

    async def progress(self, text: str) -> None:
        await self._lines.send(self._running.claim, text)

    async def do(self, errand: Errand) -> Any:
        return await self._lines.do(self._running.claim, errand)

    def logged(self, lines: list[LogLine]) -> None:
        self._lines.logged(self._running, lines)

    def follow(self, job: NewJob) -> None:
        self._running.follow(job)

    def committed(self, *, answered: bool) -> None:
        self._running.commit(answered=answered)
