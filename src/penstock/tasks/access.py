"""The way from any caller, async or sync, in any thread, to the one open engine."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from typing import TypeVar

from penstock.engine import Engine
from penstock.model.errors import CalledInLoop, EngineError
from penstock.tasks.home import Connect, Home, Opened, Work
from penstock.tasks.portal import Portal

T = TypeVar("T")

LAST_WORDS = 2.0  # seconds to close the engine of a program that ends without closing it

# Engines of a parent process. Closing or collecting one here would end connections the parent still uses.
_INHERITED: list[Home] = []


class Access:
    """Keeps the engine open on one loop: the first caller's, or a thread's where that has none.

    Should that loop end, the next caller's takes over: with the same engine where it is `portable`, which is
    to say at home on any loop, else with a new one.
    """

    def __init__(self, connect: Connect, *, portable: bool = False) -> None:
        self._connect = connect
        self.portable = portable
        self._home: Home | None = None
        self._users = 0  # nested `with app` blocks
        self._pid = os.getpid()
        self._lock = threading.Lock()
        atexit.register(_close_at_exit, weakref.ref(self))

    @property
    def engine(self) -> Engine:
        """The open engine, to be used on the loop it was opened on; EngineError where none is open."""
        home = self._home
        if home is None or home.opened is None or self._pid != os.getpid():
            raise EngineError("the app is not open; use it inside `async with app:` or `with app:`")
        return home.opened.engine

    @property
    def is_open(self) -> bool:
        """Whether the engine is open, and can be used where it is."""
        home = self._home
        if home is None or home.opened is None or self._pid != os.getpid():
            return False
        return home.alive or self.portable

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
        refuse_in_loop(twin)
        home = self._settle(None)
        return asyncio.run_coroutine_threadsafe(home.do(work), home.loop).result()

    def _settle(self, loop: asyncio.AbstractEventLoop | None) -> Home:
        """The home that is alive; else a new one on `loop`, or on a portal's where there is none."""
        if self._pid != os.getpid():
            self._forget_parent()
        with self._lock:
            if self._home is None or not self._home.alive:
                self._home = self._new_home(loop)
            return self._home

    def _new_home(self, loop: asyncio.AbstractEventLoop | None) -> Home:
        portal = Portal() if loop is None else None
        home = Home(loop or portal.loop, self._connect, portal)  # type: ignore[union-attr]
        before = self._home
        if self.portable and before is not None and before.opened is not None:
            home.opened = Opened(before.opened.engine)
        return home

    def _forget_parent(self) -> None:
        if self._home is not None:
            _INHERITED.append(self._home)
        self._home = None
        self._users = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()

    # -- life -----------------------------------------------------------------------------------------
    async def aopen(self) -> None:
        """Open the engine on the running loop, unless it is in use on another one."""
        home = self._home
        if home is not None and home.portal is not None and not self._users and self._pid == os.getpid():
            await asyncio.to_thread(self._leave, home, keep=self.portable)
        await self.arun(_nothing)
        with self._lock:
            self._users += 1

    async def aclose(self) -> None:
        """Close the engine, once nobody is inside `with app` any more."""
        home = self._last_user()
        if home is None:
            return
        if home.loop is asyncio.get_running_loop():
            self._home = None
            await home.close()
        else:
            await asyncio.to_thread(self._leave, home)

    def open(self) -> None:
        """Open the engine for a program without an event loop."""
        self.run(_nothing, "async with app")
        with self._lock:
            self._users += 1

    def close(self) -> None:
        """Close the engine, once nobody is inside `with app` any more."""
        refuse_in_loop("aclose")
        home = self._last_user()
        if home is not None:
            self._leave(home)

    def _last_user(self) -> Home | None:
        if self._pid != os.getpid():
            return None
        with self._lock:
            self._users = max(0, self._users - 1)
            return None if self._users else self._home

    def _leave(self, home: Home, *, keep: bool = False) -> None:
        """Close a home from outside its loop; `keep` leaves its engine open, to move."""
        if self._home is home and not keep:
            self._home = None
        if home.alive:
            asyncio.run_coroutine_threadsafe(home.close(keep=keep), home.loop).result()
        elif home.opened is not None and self.portable and not keep:
            asyncio.run(home.opened.engine.close())
        if home.portal is not None:
            home.portal.stop()


def refuse_in_loop(twin: str) -> None:
    """CalledInLoop where this thread runs an event loop, which a blocking call would stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise CalledInLoop(f"this call blocks, and an event loop runs in this thread; use `{twin}` instead")


async def _nothing(_: Opened) -> None:
    """Opening is all that is wanted."""


def _close_at_exit(reference: weakref.ref[Access]) -> None:
    """Say goodbye to the server. What was acknowledged is safe already, so that nothing here may fail."""
    access = reference()
    home = access._home if access is not None and access._pid == os.getpid() else None
    if access is None or home is None or home.opened is None:
        return
    with contextlib.suppress(Exception):
        if home.alive:
            asyncio.run_coroutine_threadsafe(home.close(), home.loop).result(LAST_WORDS)
        elif access.portable:
            asyncio.run(home.opened.engine.close())
