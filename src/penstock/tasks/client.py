"""The way from any caller, async or sync, in any thread, to the one open engine."""

from __future__ import annotations

import asyncio
import atexit
import os
import random
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock.engine import Engine
from penstock.model.errors import CalledInLoop, EngineError, ResultTimeout
from penstock.model.job import Job
from penstock.tasks.call import Call
from penstock.tasks.handle import JobHandle, found
from penstock.tasks.home import Connect, Home, Opened, Work
from penstock.tasks.portal import Portal

R = TypeVar("R")
T = TypeVar("T")

FIRST_LOOK = 0.004  # seconds before a result is first looked for again; grows to LAST_LOOK
LAST_LOOK = 1.0

# Engines of a parent process. Closing or collecting one here would end connections the parent still uses.
_INHERITED: list[Home] = []


class Client:
    """Keeps the engine open on one loop: the caller's, or a thread's where the caller has none."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._home: Home | None = None
        self._users = 0  # nested `with app` blocks
        self._pid = os.getpid()
        self._lock = threading.Lock()
        atexit.register(_close_at_exit, weakref.ref(self))

    # -- life ---------------------------------------------------------------------------------------
    @property
    def engine(self) -> Engine:
        """The open engine; EngineError where none is open."""
        home = self._home
        if home is None or home.opened is None or self._pid != os.getpid():
            raise EngineError("the app is not open; use it inside `async with app:` or `with app:`")
        return home.opened.engine

    @property
    def is_open(self) -> bool:
        home = self._home
        return home is not None and home.opened is not None and home.alive and self._pid == os.getpid()

    async def aopen(self) -> None:
        """Open the engine on the running loop, unless it is open on another one that runs."""
        loop = asyncio.get_running_loop()
        home = self._home
        if home is not None and home.portal is not None:
            await loop.run_in_executor(None, self._close_portal, home)
        await self.arun(_nothing)
        self._users += 1

    async def aclose(self) -> None:
        """Close the engine once nobody is inside `with app` any more."""
        self._users = max(0, self._users - 1)
        home = self._home
        if self._users or home is None:
            return
        self._home = None
        if home.portal is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._close_portal, home)
        elif home.loop is asyncio.get_running_loop():
            await home.close()
        elif home.alive:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(home.close(), home.loop))

    def open(self) -> None:
        """Open the engine for a program without an event loop."""
        self.run(_nothing, "async with app")
        self._users += 1

    def close(self) -> None:
        """Close the engine once nobody is inside `with app` any more."""
        _refuse_in_loop("aclose")
        self._users = max(0, self._users - 1)
        home = self._home
        if self._users or home is None or self._pid != os.getpid():
            return
        self._home = None
        if home.portal is not None:
            self._close_portal(home)
        elif home.alive:
            asyncio.run_coroutine_threadsafe(home.close(), home.loop).result()

    def _close_portal(self, home: Home) -> None:
        if self._home is home:
            self._home = None
        assert home.portal is not None
        try:
            asyncio.run_coroutine_threadsafe(home.close(), home.loop).result()
        finally:
            home.portal.stop()

    # -- the two ways in ------------------------------------------------------------------------------
    async def arun(self, work: Work[T]) -> T:
        """Do `work` with the open engine, on the loop it lives on."""
        loop = asyncio.get_running_loop()
        home = self._home
        if home is None or home.loop is not loop or self._pid != os.getpid():
            home = self._settle(loop)
        if home.loop is loop:
            return await home.do(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(home.do(work), home.loop))

    def run(self, work: Work[T], twin: str) -> T:
        """Do `work` and wait for it; CalledInLoop inside a running loop, naming the async twin."""
        _refuse_in_loop(twin)
        home = self._settle(None)
        return asyncio.run_coroutine_threadsafe(home.do(work), home.loop).result()

    def _settle(self, loop: asyncio.AbstractEventLoop | None) -> Home:
        """The home that lives; else a new one on `loop`, or on a portal's where there is none."""
        if self._pid != os.getpid():
            self._forget_parent()
        with self._lock:
            if self._home is None or not self._home.alive:
                portal = None if loop is not None else Portal()
                self._home = Home(loop or portal.loop, self._connect, portal)  # type: ignore[union-attr]
            return self._home

    def _forget_parent(self) -> None:
        if self._home is not None:
            _INHERITED.append(self._home)
        self._home = None
        self._users = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()

    # -- enqueue --------------------------------------------------------------------------------------
    async def asend(self, call: Call[R]) -> JobHandle[R]:
        """Enqueue one call, sharing a commit with those made at the same time."""
        call.task.admit()
        again, call.sent = call.sent, True
        answer = await self.arun(lambda opened: opened.gatherer.put(call.job, again=again))
        return JobHandle(self, call, answer)

    def send(self, call: Call[R]) -> JobHandle[R]:
        """Enqueue one call."""
        call.task.admit()
        again, call.sent = call.sent, True
        answer = self.run(lambda opened: opened.gatherer.put(call.job, again=again), "aenqueue")
        return JobHandle(self, call, answer)

    async def asend_many(self, calls: Sequence[Call[Any]]) -> list[JobHandle[Any]]:
        """Enqueue many calls, in groups of at most 1,000 that are each all or nothing."""
        jobs, again = _admit(calls)
        answers = await self.arun(lambda opened: opened.gatherer.put_many(jobs, again=again))
        return [JobHandle(self, call, answer) for call, answer in zip(calls, answers, strict=True)]

    def send_many(self, calls: Sequence[Call[Any]]) -> list[JobHandle[Any]]:
        """Enqueue many calls, in groups of at most 1,000 that are each all or nothing."""
        _refuse_in_loop("aenqueue_many")
        jobs, again = _admit(calls)
        answers = self.run(lambda opened: opened.gatherer.put_many(jobs, again=again), "aenqueue_many")
        return [JobHandle(self, call, answer) for call, answer in zip(calls, answers, strict=True)]
