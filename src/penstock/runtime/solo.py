"""Child processes that run one job at a time, and can really be stopped.

Used for tasks with `execute="process"`, and for suspects: a job that was running when its process died runs
alone from then on, so that if it kills again it kills nobody else, and we know who it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.model.decide import End
from penstock.model.errors import InvalidOption
from penstock.model.job import Claim
from penstock.runtime.wire import MAX_LINE, end_from_wire, pack, unpack

OnBegin = Callable[[], None]
OnProgress = Callable[[str], None]

MAX_IDLE = 4  # children kept warm
STARTS = os.cpu_count() or 1  # children starting at the same time


class ChildDied(Exception):
    """The child ended while it ran a job; the text says how."""


class SoloPool:
    """Starts a child when one is needed, keeps a few for the next jobs. Touched by the event loop only.

    Starting takes half a second of computing, so few start at once: a job takes the first child that comes
    free, be it new or done with another job.
    """

    def __init__(self, app_ref: str | None, worker: str) -> None:
        self._app_ref = app_ref
        self._worker = worker
        self._idle: list[_Child] = []
        self._waiting: deque[asyncio.Future[_Child]] = deque()
        self._starting: set[asyncio.Task[None]] = set()

    async def run(self, claim: Claim, on_progress: OnProgress, on_begin: OnBegin | None = None) -> End:
        """Run a job alone; `on_begin` is called when a child takes it up. Cancelling this kills the child."""
        child = await self._take()
        if on_begin is not None:
            on_begin()
        try:
            end = await child.run(claim, on_progress)
        except BaseException:
            await child.kill()
            raise
        await self._give(child)
        return end

    async def _take(self) -> _Child:
        while self._idle:
            if (child := self._idle.pop()).is_alive:
                return child
        turn: asyncio.Future[_Child] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._start_more()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                await self._give(turn.result())
            raise

    async def _give(self, child: _Child) -> None:
        """To the one who has waited longest; else it is kept warm."""
        if (turn := self._next()) is not None:
            turn.set_result(child)
        elif len(self._idle) < MAX_IDLE:
            self._idle.append(child)
        else:
            await child.kill()

    def _next(self) -> asyncio.Future[_Child] | None:
        while self._waiting:
            if not (turn := self._waiting.popleft()).done():
                return turn
        return None

    def _start_more(self) -> None:
        if len(self._starting) < min(STARTS, len(self._waiting)):
            task = asyncio.create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._started)

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting.discard(task)
        self._start_more()

    async def _start(self) -> None:
        try:
            child = await self._new()
        except Exception as error:  # noqa: BLE001 - it travels to the job that waits
            if (turn := self._next()) is not None:
                turn.set_exception(error)
        else:
            await self._give(child)

    async def _new(self) -> _Child:
        if self._app_ref is None:
            raise InvalidOption(
                "running a job in a process of its own needs to know where the app is; "
                "start the worker with `penstock worker --app module:app`"
            )
        return await _Child.start(self._app_ref, self._worker)

    async def close(self) -> None:
        for turn in self._waiting:
            turn.cancel()
        self._waiting.clear()
        for task in tuple(self._starting):
            task.cancel()
        for child in self._idle:
            await child.kill()
        self._idle.clear()


class _Child:
    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, app_ref: str, worker: str) -> _Child:
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "penstock.runtime.solo_child",
                app_ref,
                worker,
                str(theirs.fileno()),
                str(os.getpid()),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        child = cls(process, *await asyncio.open_connection(sock=ours, limit=MAX_LINE))
        try:
            await child._loaded(app_ref)
        except BaseException:
            await child.kill()
            raise
        return child

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def _loaded(self, app_ref: str) -> None:
        # A child that cannot load the app says nothing about the job: that is no crash of the job's.
        try:
            await self._next()
        except ChildDied as error:
            raise RuntimeError(f"a child process could not load {app_ref!r}: {error}") from None

    async def run(self, claim: Claim, on_progress: OnProgress) -> End:
        fields = claim._asdict()
        fields["created_at"], fields["due_at"] = claim.created_at.isoformat(), claim.due_at.isoformat()
        self._writer.write(pack(fields))
        while True:
            message = await self._next()
            if "end" in message:
                return end_from_wire(message["end"])
            on_progress(message["progress"])

    async def _next(self) -> dict[str, Any]:
        try:
            line = await self._reader.readline()
        except ConnectionError:
            line = b""
        if not line.endswith(b"\n"):
            raise ChildDied(how_it_ended(await self._process.wait()))
        return unpack(line)

    async def kill(self) -> None:
        """End the child and whatever it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._writer.close()
        await self._process.wait()


def how_it_ended(code: int) -> str:
    """A sentence about the end of a process."""
    if code >= 0:
        return f"its process exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{hint}"
