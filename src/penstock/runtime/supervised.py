"""One worker process, seen from its supervisor: born, registered, beaten for, buried."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from penstock.engine import Engine, Order, Orders, WorkerInfo
from penstock.logs import LogFormat
from penstock.model.errors import EngineError
from penstock.model.states import State
from penstock.runtime.account import Account
from penstock.runtime.backoff import Backoff
from penstock.runtime.board import Board
from penstock.runtime.heart import beat
from penstock.runtime.solo import how_it_ended
from penstock.runtime.wire import MAX_LINE, pack, unpack
from penstock.telemetry import gone

log = logging.getLogger("penstock.supervisor")

_T = TypeVar("_T")
_FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM)
EngineFor = Callable[[str, str], Awaitable[Engine]]

LINGER = 1.0  # seconds that processes below a dead worker get to be gone
EXTRA = 5.0  # seconds beyond the grace period, or its farewell, before a worker that does not end is killed


class BadApp(Exception):
    """The worker could not load the app or reach its engine."""


class KilledEarly(Exception):
    """The worker was killed from outside before it said hello: that says nothing about the app."""


class Supervised:
    """Touched by the supervisor's event loop only."""

    def __init__(
        self, app_ref: str, wishes: dict[str, Any], log_level: str, log_format: LogFormat = "console"
    ) -> None:
        self._config = {"app": app_ref, "wishes": wishes, "log_level": log_level, "log_format": log_format}
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._killer: asyncio.TimerHandle | None = None
        self._grace = 30.0
        self._metrics = True
        self._began_at: float | None = None  # it was registered and told to go
        self._drain: str | None = None
        self.dismissed = False  # an operator has told it to stop: no other takes its place
        self._leaving: str | None = (
            None  # why, once it has said so itself; its exit code may be a job's doing
        )

    @property
    def ended_well(self) -> bool:
        """Whether it said that it would end: every other end is a crash, whatever its exit code."""
        return self._leaving is not None

    @property
    def began(self) -> bool:
        """Whether it was registered and told to go."""
        return self._began_at is not None

    @property
    def worked(self) -> float:
        """Seconds since it was told to go."""
        return 0.0 if self._began_at is None else time.monotonic() - self._began_at

    def drain(self, *, now: bool) -> None:
        """Ask the worker to end; kill it when it does not."""
        self._drain = "now" if now else "soon"
        self._tell({"drain": self._drain})
        self._kill_in(EXTRA if now else self._grace + EXTRA)

    async def live(self, engine_for: EngineFor) -> None:
        """From start to burial."""
        board_fd = Board.make_file()
        try:
            self._reader = await self._spawn(board_fd)
            hello = await self._hello(self._reader)
            engine = await engine_for(hello["url"], hello["schema"])
            board = Board.shared(board_fd, hello["slots"], hello["lease"])
            await self._supervise(engine, board, hello)
        finally:
            os.close(board_fd)
            await self._end()

    async def _spawn(self, board_fd: int) -> asyncio.StreamReader:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "penstock.runtime.child",
                str(theirs.fileno()),
                str(board_fd),
                str(os.getpid()),
                pass_fds=[theirs.fileno(), board_fd],
            )
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE)
        self._tell(self._config)
        return reader

    async def _hello(self, reader: asyncio.StreamReader) -> dict[str, Any]:
        with contextlib.suppress(ConnectionError):
            if line := await reader.readline():
                hello = unpack(line)
                if "failed" in hello:
                    raise BadApp(hello["failed"])
                return hello
        assert self._process is not None
        code = await self._process.wait()
        raise (KilledEarly if code in _FROM_OUTSIDE else BadApp)(how_it_ended(code))

    async def _supervise(self, engine: Engine, board: Board, hello: dict[str, Any]) -> None:
        worker = WorkerInfo(
            id=hello["worker"], name=hello["name"], queues=tuple(hello["queues"]), slots=hello["slots"]
        )
        self._grace = hello["grace"]
        self._metrics = hello["metrics"]
        board.beaten(time.monotonic())
        await _insist(lambda: engine.register(worker, board.ttl), board.ttl)
        log.info(
            "worker %s takes jobs from %s, %d at once", worker.name, ", ".join(worker.queues), worker.slots
        )
        self._began_at = time.monotonic()
        self._tell({"go": True})
        if self._drain is not None:
            self._tell({"drain": self._drain})
        listening = asyncio.create_task(self._listen())
        beating = asyncio.create_task(self._beat_on(engine, board, worker.id))
        try:
            assert self._process is not None
            code = await self._process.wait()
            beating.cancel()
            await self._all_gone(listening, worker)
        finally:
            beating.cancel()
            listening.cancel()
        await self._bury(engine, board, worker, code)

    async def _listen(self) -> None:
        """Until nobody holds the other end: neither the worker nor a process in which a job runs alone."""
        assert self._reader is not None
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await self._reader.readline():
                self._leaving = unpack(line)["leaving"]
                self._kill_in(EXTRA)

    async def _all_gone(self, listening: asyncio.Task[None], worker: WorkerInfo) -> None:
        """Wait for the processes in which jobs run alone: they die with the worker, a moment later."""
        _, lingering = await asyncio.wait([listening], timeout=LINGER)
        if lingering:
            log.warning("something that worker %s started still lives", worker.name)

    async def _beat_on(self, engine: Engine, board: Board, worker: str) -> None:
        assert self._process is not None
        while True:
            pause = min(2.0, board.ttl / 3)
            try:
                orders = await beat(engine, worker, board, self._process.pid)
                self._pass_on(orders)
                if orders.given_up:
                    self.drain(now=True)
                    return
            except (EngineError, TimeoutError) as error:
                log.warning("heartbeat of worker %s missed: %s", worker, str(error) or "no answer in time")
                pause /= 4
            await asyncio.sleep(pause)

    def _pass_on(self, orders: Orders) -> None:
        if orders != self._last_orders:
            self._last_orders = orders
            told = [orders.given_up, list(orders.cancel), sorted(orders.paused), orders.watched]
            self._tell({"orders": [*told, orders.order]})
        if orders.order is Order.STOP and not self.dismissed:
            self.dismissed = True
            self.drain(now=False)

    _last_orders = Orders()

    async def _bury(self, engine: Engine, board: Board, worker: WorkerInfo, code: int) -> None:
        """Take back what the worker held: at once, under its tokens."""
        if self.ended_well:
            log.info("worker %s ended: %s", worker.name, self._leaving)
        else:
            log.error("worker %s died: %s", worker.name, how_it_ended(code))
        begun = board.begun()
        account = Account(engine, counts=self._metrics)
        rescued = await _insist(
            lambda: account.rescue(lambda judge: engine.rescue_worker(worker.id, begun, judge)), board.ttl
        )
        if not self.ended_well:
            await gone.remember(engine, worker.id, how_it_ended(code), rescued, worker.name)
        await account.last_words()
        if rescued:
            log.warning("%d jobs of worker %s were taken back", len(rescued), worker.name)
        for job in rescued:
            if job.state is State.FAILED:
                log.error(
                    "job %s (%s) was running in it, and must not run twice; dead-lettered", job.id, job.task
                )

    async def _end(self) -> None:
        if self._killer is not None:
            self._killer.cancel()
        if self._writer is not None:
            self._writer.close()
        self._kill()
        if self._process is not None:
            await self._process.wait()

    def _tell(self, message: dict[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(pack(message))

    def _kill_in(self, seconds: float) -> None:
        if self._killer is not None:
            self._killer.cancel()
        self._killer = asyncio.get_running_loop().call_later(seconds, self._kill)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)


async def _insist(verb: Callable[[], Awaitable[_T]], patience: float) -> _T:
    """Until it is done, or until the lease is over, when everybody else's sweep does it."""
    backoff = Backoff(cap=1.0)
    until = time.monotonic() + patience
    while True:
        try:
            return await verb()
        except EngineError as error:
            if time.monotonic() > until:
                raise
            log.warning("%s; trying again", error)
            await asyncio.sleep(backoff.next())
