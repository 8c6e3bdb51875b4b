"""Where an app's engine is open: one engine, on one event loop, which callers of other loops may borrow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeAlias, TypeVar

from penstock.engine import Engine
from penstock.feed.publisher import ClientPublisher
from penstock.feed.reader import Feed
from penstock.tasks.gather import Gatherer
from penstock.tasks.portal import Portal

T = TypeVar("T")
Connect: TypeAlias = Callable[[], Awaitable[Engine]]

LOOK = 0.5  # seconds between looks whether a borrowed loop still runs


class Opened:
    """An open engine and the streams into it."""

    __slots__ = ("engine", "feed", "gatherer", "publisher")

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.gatherer = Gatherer(engine)
        self.publisher = ClientPublisher(engine)
        self.feed = Feed(engine)


# The second argument says whether the same work may have been done before, by a try whose answer was lost.
Work: TypeAlias = Callable[[Opened, bool], Coroutine[Any, Any, T]]


class HomeLost(Exception):
    """The home ended under a call, which may or may not have been done."""


class Home:
    """Opens the engine when first used; everything that touches it runs on `loop`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, connect: Connect, portal: Portal | None = None
    ) -> None:
        self.loop = loop
        self.portal = portal
        self.opened: Opened | None = None
        self.blocks = 0  # `async with app` blocks entered on this very loop
        self._connect = connect
        self._opening = asyncio.Lock()
        self._over = False
        self._guests: set[asyncio.Task[Any]] = set()

    @property
    def alive(self) -> bool:
        return self.loop.is_running() and not self._over

    async def do(self, work: Work[T], again: bool = False) -> T:
        """Run `work` with the open engine. On this home's own loop only."""
        opened = self.opened
        if opened is None:
            opened = await self._open()
        return await work(opened, again)

    async def close(self, *, keep: bool = False) -> None:
        """Let what is in flight land, send guests elsewhere, and close the engine unless it moves.

        On this home's loop only.
        """
        self._over = True
        if self.opened is not None:
            await self.opened.gatherer.drain()
            await self.opened.publisher.close()
            await self.opened.feed.close()
        guests = self._guests - {asyncio.current_task()}
        for guest in guests:
            guest.cancel()
        if guests:
            await asyncio.wait(guests)
        if self.opened is not None and not keep:
            opened, self.opened = self.opened, None
            await opened.engine.close()

    async def _open(self) -> Opened:
        async with self._opening:
            if self.opened is None:
                self.opened = Opened(await self._connect())
            return self.opened

    # -- callers of other threads and loops -----------------------------------------------------------
    def fetch(self, errand: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `errand` on this home's loop and block for its end; HomeLost where the loop ends first."""
        answer = self._lend(errand)
        try:
            while True:
                try:
                    return answer.result(LOOK)
                except TimeoutError:
                    if answer.done():
                        return answer.result()
                    self._check_alive()
        finally:
            answer.cancel()

    async def afetch(self, errand: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `errand` on this home's loop and await its end; HomeLost where the loop ends first."""
        answer = asyncio.wrap_future(self._lend(errand))
        try:
            while not (await asyncio.wait({answer}, timeout=LOOK))[0]:
                self._check_alive()
            return answer.result()
        finally:
            answer.cancel()

    def _check_alive(self) -> None:
        if not self.loop.is_running():
            raise HomeLost

    def _lend(self, errand: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        answer: Future[T] = Future()
        try:
            self.loop.call_soon_threadsafe(self._serve, errand, answer)
        except RuntimeError:  # the loop is closed
            answer.set_exception(HomeLost())
        return answer

    def _serve(self, errand: Callable[[], Coroutine[Any, Any, T]], answer: Future[T]) -> None:
        if self._over:
            _reply(answer, HomeLost())
            return
        guest = self.loop.create_task(errand())
        self._guests.add(guest)
        guest.add_done_callback(lambda done: self._part(done, answer))
        answer.add_done_callback(lambda done: self._dismiss(guest) if done.cancelled() else None)

    def _part(self, guest: asyncio.Task[T], answer: Future[T]) -> None:
        self._guests.discard(guest)
        if guest.cancelled():
            # By the caller, who no longer listens, or by the end of this loop, which is not the caller's.
            _reply(answer, HomeLost())
        elif (error := guest.exception()) is not None:
            _reply(answer, error)
        else:
            with contextlib.suppress(InvalidStateError):
                answer.set_result(guest.result())

    def _dismiss(self, guest: asyncio.Task[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing runs there any more
            self.loop.call_soon_threadsafe(guest.cancel)


def _reply(answer: Future[Any], error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):  # the caller has gone
        answer.set_exception(error)
