"""Child processes that run one job at a time, and can really be stopped.

Used for tasks with `execute="process"`, and for suspects: a job that was running when its process died runs
alone from then on, so that if it kills again it kills nobody else, and we know who it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from typing import Any, Protocol

from penstock.model.decide import End
from penstock.model.errors import EngineError
from penstock.model.job import Claim, NewJob
from penstock.runtime.guard import kill_group
from penstock.runtime.warm import Warm
from penstock.runtime.wire import MAX_LINE, Terms, end_from_wire, job_from_wire, pack, unpack
from penstock.tasks.errands import Errand
from penstock.tasks.joblog import Line

log = logging.getLogger("penstock.worker")

START = 60.0  # seconds that a child gets to be ready, or to take up a job: an app may be slow to load
MAX_IDLE = 4  # children kept for the next jobs
_SAYS = ("progress", "errand", "follow", "committed", "logged", "end")  # what a child may say of its run
STARTS = os.cpu_count() or 1  # children starting at the same time: an app may be slow to load


class Listener(Protocol):
    """Who hears what the handler in a child says."""

    @property
    def terms(self) -> Terms:
        """What the child is told with the job."""

    def begin(self) -> None:
        """A child has taken the job up."""

    async def progress(self, text: str) -> None:
        """How far it is."""

    async def do(self, errand: Errand) -> Any:
        """It has the engine asked."""

    def follow(self, job: NewJob) -> None:
        """This job is to be put in when it completes."""

    def logged(self, lines: list[Line]) -> None:
        """What it has logged so far."""

    def committed(self, *, answered: bool) -> None:
        """It has settled the run itself, and may have set its result."""


class ChildDied(Exception):
    """The child ended; the text says how."""


class Bereft(ChildDied):
    """The child's line ended without a word about the child: the warm process is gone, with all."""


class SoloPool:
    """Asks for a child when one is needed, keeps a few for the next jobs. Touched by the event loop only."""

    def __init__(self, warm: Warm) -> None:
        self._warm = warm
        self._idle: list[Child] = []
        self._starts = asyncio.Semaphore(STARTS)

    async def run(self, claim: Claim, listener: Listener) -> End:
        """Run a job alone. Cancelling this kills the child."""
        child = await self._taken_up(claim, listener.terms)
        listener.begin()
        end = await child.end(listener)
        if len(self._idle) < MAX_IDLE:
            self._idle.append(child)
        else:
            await child.kill()
        return end

    async def _taken_up(self, claim: Claim, terms: Terms) -> Child:
        """A child that has begun with the job."""
        if (child := await self._idle_one(claim, terms)) is not None:
            return child
        async with self._starts:
            # While we waited for our turn, another job may have done with its child.
            if (child := await self._idle_one(claim, terms)) is not None:
                return child
            child = await self._new()
        await child.take_up(claim, terms)
        return child

    async def _idle_one(self, claim: Claim, terms: Terms) -> Child | None:
        while self._idle:
            child = self._idle.pop()
            with contextlib.suppress(ChildDied):  # while it was idle, which says nothing about the job
                await child.take_up(claim, terms)
                return child
        return None

    async def _new(self) -> Child:
        # A child that does not begin says nothing about the job: that is no crash of the job's.
        try:
            try:
                return await self._started()
            except Bereft:
                return await self._started()
        except ChildDied as error:
            raise RuntimeError(f"a child process could not begin: {error}") from None

    async def _started(self) -> Child:
        try:
            async with asyncio.timeout(START):
                return await Child.start(self._warm.bear())
        except TimeoutError:
            log.warning("no child process was ready within %g s; the one they come from is replaced", START)
            self._warm.replace()
            raise Bereft(f"it was not ready within {START:g} s") from None

    async def close(self) -> None:
        for child in self._idle:
            await child.kill()
        self._idle.clear()
        self._warm.close()


class Child:
    """A child process, as the worker sees it. The line brings its messages, and at last how it ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._token = ""  # of the run in hand: what a child says of another is passed over
        self.pid = 0  # while it is neither ready nor gone

    @classmethod
    async def start(cls, line: socket.socket) -> Child:
        """Wait until the child at the other end is ready; it ends by itself when the line is closed."""
        child = cls(*await asyncio.open_connection(sock=line, limit=MAX_LINE))
        try:
            child.pid = (await child._next())["ready"]
        except BaseException:
            child._writer.close()
            raise
        return child

    async def take_up(self, claim: Claim, terms: Terms) -> None:
        """Give it a job, and wait until it has begun; ChildDied where it never does."""
        self._token = claim.token
        async with self._or_kill():
            self._writer.write(_message(claim, terms))
            try:
                async with asyncio.timeout(START):
                    await self._next_of("begun")
            except TimeoutError:
                raise ChildDied(f"its process did not take it up within {START:g} s") from None

    async def end(self, listener: Listener) -> End:
        """Wait for the end of the job. The child tells more progress only when the last is dealt with."""
        async with self._or_kill():
            while "end" not in (message := await self._next_of(*_SAYS)):
                if "progress" in message:
                    await listener.progress(message["progress"])
                    self._writer.write(pack({"stored": self._token}))
                elif "errand" in message:
                    answer = await _answered(listener, Errand(*message["errand"]))
                    self._writer.write(pack({"answered": self._token, "number": message["number"], **answer}))
                elif "committed" in message:
                    listener.committed(answered=message["committed"])
                elif "logged" in message:
                    listener.logged(message["logged"])
                else:
                    listener.follow(job_from_wire(message["follow"]))
            return end_from_wire(message["end"])

    @contextlib.asynccontextmanager
    async def _or_kill(self) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            await self.kill()
            raise

    async def _next_of(self, *kinds: str) -> dict[str, Any]:
        """The next message of these kinds about the run in hand."""
        while True:
            message = await self._next()
            if message.get("token") == self._token and not message.keys().isdisjoint(kinds):
                return message

    async def _next(self) -> dict[str, Any]:
        while line := await self._line():
            message = _unpacked(line)
            if "ended" in message:
                self._gone(message)
                raise ChildDied(how_it_ended(message["ended"]))
            if message:
                return message
        raise Bereft("its process was lost together with the one it came from")

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ConnectionError:
            return b""

    async def kill(self) -> None:
        """End the child and whatever it started; returns when it is gone."""
        if self.pid:
            kill_group(self.pid)
            with contextlib.suppress(ChildDied, ValueError):
                while True:
                    await self._next()
        self._writer.close()

    def _gone(self, message: dict[str, Any]) -> None:
        if self.pid and "unguarded" in message:  # it has killed its guard, who can see to nothing any more
            kill_group(self.pid)
        self.pid = 0


async def _answered(listener: Listener, errand: Errand) -> dict[str, Any]:
    try:
        return {"answer": await listener.do(errand)}
    except EngineError as error:
        return {"unavailable": str(error)}


def _message(claim: Claim, terms: Terms) -> bytes:
    fields = claim._asdict()
    fields["created_at"], fields["due_at"] = claim.created_at.isoformat(), claim.due_at.isoformat()
    return pack({"claim": fields, "terms": terms})


def _unpacked(line: bytes) -> dict[str, Any]:
    """Empty for what a child was saying when it died: the message about its end follows."""
    try:
        return unpack(line)
    except ValueError:
        return {}


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
