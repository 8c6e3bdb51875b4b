"""Threads for what blocks: the database's calls, and handlers that are no coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.runtime.threads import Threads

T = TypeVar("T")


class Crew:
    """As many threads as there are calls at once."""

    def __init__(self) -> None:
        self._threads = Threads("penstock-table")
        self._lock = threading.Lock()
        self._under_way = 0  # under the lock: calls that have not returned

    async def do(self, work: Callable[..., T], *args: Any) -> T:
        """Run `work` in a thread; what is cancelled here goes on there."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def told(value: Any, error: BaseException | None) -> None:
            if not answer.done():
                answer.set_result((value, error))  # StopIteration among them, which no future can raise

        def run() -> None:
            value, error = None, None
            try:
                value = work(*args)
            except BaseException as raised:  # noqa: BLE001 - told where it was asked for
                error = raised
            with self._lock:
                self._under_way -= 1
            with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop is closed
                loop.call_soon_threadsafe(told, value, error)

        with self._lock:
            self._under_way += 1
        self._threads.run(run)
        value, error = await answer
        if error is not None:
            try:
                raise error
            finally:
                del error  # or it would keep its own frames
        return value  # type: ignore[no-any-return]

    async def finish(self, work: Callable[..., T], *args: Any) -> T:
        """The same; who is cancelled meanwhile waits until it is done."""
        doing = asyncio.ensure_future(self.do(work, *args))
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            await asyncio.wait([doing])
            if not doing.cancelled():
                doing.exception()  # nobody else will ask
            raise

    def close(self) -> None:
        """Let idle threads end; those in which a handler still runs end with the process."""
        until = time.monotonic() + 1.0
        # One that has given its answer may not have come to rest, and would count as left behind.
        while self._threads.busy > self._under_way and time.monotonic() < until:
            time.sleep(0.001)
        self._threads.close()
