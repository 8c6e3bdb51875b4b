"""A thread that works for one coroutine: what waits for a lock, or for the disk, must not stop a loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Order(NamedTuple):
    work: Callable[[], Any]
    undo: Callable[[Any], None] | None
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Servant:
    """Works off one order after the other, in its own thread, until it is dismissed."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._busy = False
        self._thread = threading.Thread(target=self._serve, name="penstock-sqlite-servant", daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
        """Have `work` done; `undo` is called with what it gave where nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._orders.put(_Order(work, undo, answer, loop))
        return await answer

    async def finish(self, work: Callable[[], T]) -> T:
        """The last order: when it is answered, the thread is gone."""
        try:
            return await self.do(work)
        finally:
            self.dismiss()
            if not self._busy:
                self._thread.join()

    def dismiss(self) -> None:
        """There will be no more orders."""
        self._orders.put(None)

    def _serve(self) -> None:
        while (order := self._orders.get()) is not None:
            self._busy = True
            try:
                done, error = order.work(), None
            except BaseException as raised:  # noqa: BLE001 - it travels to whoever waits
                done, error = None, raised
            self._busy = False
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                order.loop.call_soon_threadsafe(self._answer, order, done, error)

    def _answer(self, order: _Order, done: Any, error: BaseException | None) -> None:
        if order.answer.done():
            if order.undo is not None and error is None:
                order.undo(done)
        elif error is not None:
            order.answer.set_exception(error)
        else:
            order.answer.set_result(done)
