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
from collections.abc import Callable
from typing import Any

from penstock.model.decide import End
from penstock.model.errors import InvalidOption
from penstock.model.job import Claim
from penstock.runtime.wire import MAX_LINE, end_from_wire, pack, unpack

OnProgress = Callable[[str], None]

MAX_IDLE = 4  # children kept warm


class ChildDied(Exception):
    """The child ended while it ran a job; the text says how."""


class SoloPool:
    """Starts a child when one is needed, keeps a few for the next jobs. Touched by the event loop only."""

    def __init__(self, app_ref: str | None, worker: str) -> None:
        self._app_ref = app_ref
        self._worker = worker
        self._idle: list[_Child] = []

    async def run(self, claim: Claim, on_progress: OnProgress) -> End:
        """Run a job alone. Cancelling this call kills the child."""
        child = self._idle.pop() if self._idle else await self._start()
        try:
            end = await child.run(claim, on_progress)
        except BaseException:
            await child.kill()
            raise
        if len(self._idle) < MAX_IDLE:
            self._idle.append(child)
        else:
            await child.kill()
        return end

    async def _start(self) -> _Child:
        if self._app_ref is None:
            raise InvalidOption(
                "running a job in a process of its own needs to know where the app is; "
                "start the worker with `penstock worker --app module:app`"
            )
        return await _Child.start(self._app_ref, self._worker)

    async def close(self) -> None:
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
        await child._loaded(app_ref)
        return child

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
