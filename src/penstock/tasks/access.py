"""The way from any caller, async or sync, in any thread, to the one open engine."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from functools import partial
from typing import TypeVar

from penstock.engine import Engine
from penstock.feed.reader import Feed
from penstock.model.errors import CalledInLoop, EngineError
from penstock.tasks.home import Connect, Home, HomeLost, Opened, Work
from penstock.tasks.portal import Portal

T = TypeVar("T")

LAST_WORDS = 2.0  # seconds to close the engine of a program that ends without closing it

# Engines of a parent process. Closing or collecting one here would end connections the parent still uses.
_INHERITED: list[tuple[Home | None, Engine | None]] = []


class Access:
    """Keeps the engine open on one loop: that of the `async with app` block, else a thread's of our own.

    A loop that was not opened on by name never serves others, for it may end at any moment. Should the home
    end under a call of another thread or loop, that call moves to the next one and asks again. The engine
    moves along where it is `portable`, which is to say at home on any loop; else the next home has a new one.
    """

    def __init__(self, connect: Connect, *, portable: bool = False) -> None:
        self._connect = connect
        self.portable = portable
        self._home: Home | None = None
        self._moving: Engine | None = None  # the engine of all homes, where it is portable
        self._users = 0  # `with app` blocks that are open
        self._pid = os.getpid()
        self._lock = threading.Lock()
        atexit.register(_close_at_exit, weakref.ref(self))

    @property
    def engine(self) -> Engine:
        """The open engine; EngineError where none is open, or not on the event loop that runs here."""
        engine = self._open_engine()
        if engine is None:
            raise EngineError("the app is not open; use it inside `async with app:` or `with app:`")
        if not self._fits_here():
            raise EngineError("the app is open on another event loop, and its engine can be used there only")
        return engine

    @property
    def feed(self) -> Feed:
        """What happens to jobs; EngineError where the app is not open on the event loop that runs here."""
        self.engine  # noqa: B018 - refuses where it is not open
        home = self._home
        if home is None or home.opened is None or home.loop is not _running_loop():
            raise EngineError("the app is not open on this event loop; use it inside `async with app:`")
        return home.opened.feed

    @property
    def is_open(self) -> bool:
        """Whether the engine is open."""
        return self._open_engine() is not None

    @property
    def is_open_here(self) -> bool:
        """Whether the engine is open, and can be used on the event loop that runs here."""
        return self.is_open and self._fits_here()

    def _open_engine(self) -> Engine | None:
        home = self._home
        if self._pid != os.getpid():
            return None
        if self.portable:
            return self._moving
        return home.opened.engine if home is not None and home.opened is not None and home.alive else None

    def _fits_here(self) -> bool:
        loop = _running_loop()
        return self.portable or loop is None or (self._home is not None and self._home.loop is loop)

    @property
    def opened_here(self) -> Opened | None:
        """The open engine, where its home is the event loop that runs here."""
        home = self._home
        if home is None or home.loop is not asyncio.get_running_loop() or self._pid != os.getpid():
            return None
        return home.opened

    # -- the two ways in ------------------------------------------------------------------------------
    async def arun(self, work: Work[T]) -> T:
        """Do `work` with the open engine, on the loop it lives on."""
        home = self._home
        if home is not None and home.loop is asyncio.get_running_loop() and self._pid == os.getpid():
            return await home.do(work)
        again = False
        while True:
            home = self._settle()
            try:
                return await home.afetch(partial(home.do, work, again))
            except HomeLost:
                again = True

    def run(self, work: Work[T], twin: str) -> T:
        """Do `work` and wait for it; CalledInLoop inside a running loop, naming the async twin."""
        refuse_in_loop(twin)
        again = False
        while True:
            home = self._settle()
            try:
                return home.fetch(partial(home.do, work, again))
            except HomeLost:
                again = True

    def _settle(self) -> Home:
        """The home that is alive; else a new one, on a portal's loop."""
        self._know_process()
        with self._lock:
            if self._home is None or not self._home.alive:
                portal = Portal()
                self._home = Home(portal.loop, self._move_in, portal)
            return self._home

    async def _move_in(self) -> Engine:
        """The engine of a new home."""
        if not self.portable:
            return await self._connect()
        if self._moving is None:
            self._moving = await self._connect()
        return self._moving

    async def _move_over(self, before: Home) -> Engine:
        """The engine of a new home, once the home before is left."""
        if before.alive:
            await asyncio.to_thread(self._leave, before)
        return await self._move_in()

    def _know_process(self) -> None:
        """Leave to the parent what is the parent's, in a forked child."""
        if self._pid == os.getpid():
            return
        _INHERITED.append((self._home, self._moving))
        self._home = self._moving = None
        self._users = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()

    # -- life -----------------------------------------------------------------------------------------
    async def aopen(self) -> None:
        """Open the engine on the running loop, unless it is in use on another one."""
        loop = asyncio.get_running_loop()
        self._know_process()
        with self._lock:
            home = self._home
            if home is None or not home.alive:
                home = self._home = Home(loop, self._move_in)
            elif not self._users and home.loop is not loop:
                home = self._home = Home(loop, partial(self._move_over, home))
            home.blocks += home.loop is loop
            self._users += 1
        try:
            await self.arun(_nothing)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Close the engine, once nobody is inside `with app` any more."""
        loop = asyncio.get_running_loop()
        home, engine = self._step_out(loop)
        if home is not None and home.loop is loop:
            await home.close(keep=self.portable)
        elif home is not None:
            await asyncio.to_thread(self._leave, home)
        if engine is not None:
            await engine.close()

    def open(self) -> None:
        """Open the engine for a program without an event loop."""
        refuse_in_loop("async with app")
        self._know_process()
        with self._lock:
            self._users += 1
        try:
            self.run(_nothing, "async with app")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the engine, once nobody is inside `with app` any more."""
        refuse_in_loop("aclose")
        home, engine = self._step_out(None)
        if home is not None:
            self._leave(home)
        if engine is not None:
            asyncio.run(engine.close())

    def _step_out(self, loop: asyncio.AbstractEventLoop | None) -> tuple[Home | None, Engine | None]:
        """One block less: the home that ends with it, and the portable engine to close.

        A home ends with the last block, and with the last one on its own loop, which may then end.
        """
        if self._pid != os.getpid():
            return None, None
        with self._lock:
            self._users = max(0, self._users - 1)
            home, engine = self._home, self._moving
            if home is not None and home.loop is loop:
                home.blocks -= 1
            if self._users == 0:
                self._home = self._moving = None
                return home, engine
            if home is not None and home.loop is loop and home.portal is None and home.blocks <= 0:
                self._home = None
                return home, None
            return None, None

    def _leave(self, home: Home) -> None:
        """End a home from outside its loop, but keep a portable engine open."""
        if home.alive:
            with contextlib.suppress(HomeLost):
                home.fetch(partial(home.close, keep=self.portable))
        if home.portal is not None:
            home.portal.stop()


def refuse_in_loop(twin: str) -> None:
    """CalledInLoop where this thread runs an event loop, which a blocking call would stop."""
    if _running_loop() is not None:
        raise CalledInLoop(f"this call blocks, and an event loop runs in this thread; use `{twin}` instead")


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _nothing(_: Opened, again: bool) -> None:
    """Opening is all that is wanted."""


def _close_at_exit(reference: weakref.ref[Access]) -> None:
    """Say goodbye to the server. What was acknowledged is safe already, so that nothing here may fail."""
    access = reference()
    if access is None or access._pid != os.getpid():
        return
    home, engine = access._home, access._moving
    with contextlib.suppress(Exception):
        if home is not None and home.opened is not None and home.alive:
            closing = home.close(keep=access.portable)
            asyncio.run_coroutine_threadsafe(closing, home.loop).result(LAST_WORDS)
    with contextlib.suppress(Exception):
        if engine is not None:
            asyncio.run(engine.close())
