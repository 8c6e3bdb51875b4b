"""Where an app's engine is open: one engine, on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from penstock.engine import Engine
from penstock.tasks.gather import Gatherer
from penstock.tasks.portal import Portal

T = TypeVar("T")
Connect: TypeAlias = Callable[[], Awaitable[Engine]]


class Opened:
    """An open engine and the streams into it."""

    __slots__ = ("engine", "gatherer")

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.gatherer = Gatherer(engine)


Work: TypeAlias = Callable[[Opened], Coroutine[Any, Any, T]]


class Home:
    """Opens the engine when first used; everything that touches it runs on `loop`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, connect: Connect, portal: Portal | None = None
    ) -> None:
        self.loop = loop
        self.portal = portal
        self.opened: Opened | None = None
        self._connect = connect
        self._opening = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self.loop.is_running()

    async def do(self, work: Work[T]) -> T:
        """Run `work` with the open engine. On this home's own loop only."""
        opened = self.opened
        if opened is None:
            opened = await self._open()
        return await work(opened)

    async def close(self, *, keep: bool = False) -> None:
        """Let what is in flight land, then close the engine unless it moves. On this home's loop only."""
        if self.opened is not None:
            await self.opened.gatherer.drain()
            if not keep:
                opened, self.opened = self.opened, None
                await opened.engine.close()

    async def _open(self) -> Opened:
        async with self._opening:
            if self.opened is None:
                self.opened = Opened(await self._connect())
            return self.opened
