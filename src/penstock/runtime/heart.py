"""Heartbeats. A supervisor beats for its workers; a worker without one has a thread that does."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from penstock.engine import Engine, Orders
from penstock.model.errors import EngineError
from penstock.runtime.board import Board
from penstock.runtime.memory import resident
from penstock.runtime.worker import Worker

log = logging.getLogger("penstock.heart")

HeartEngine = Callable[[], AbstractAsyncContextManager[Engine]]


async def beat(engine: Engine, worker: str, board: Board, pid: int) -> Orders:
    """One heartbeat. The lease counts from before it was asked for: a slow answer makes it no longer."""
    asked_at = time.monotonic()
    async with asyncio.timeout(board.ttl / 3):
        orders = await engine.beat(worker, board.ttl, resident(pid))
    if orders.given_up:
        board.give_up()
    else:
        board.beaten(asked_at)
    return orders


class Heart:
    """A thread with a loop and a connection of its own.

    It keeps beating while a handler blocks the worker's event loop. It cannot while a handler holds the GIL
    in C code: for that promise a worker needs its supervisor.
    """

    def __init__(self, worker: Worker, engine: HeartEngine) -> None:
        self._worker = worker
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="penstock-heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        self._stop.set()
        await asyncio.to_thread(self._thread.join)

    def _main(self) -> None:
        asyncio.run(self._beat_on())

    async def _beat_on(self) -> None:
        every = self._worker.options.beat_every
        while not self._stop.is_set():
            try:
                async with self._engine() as engine:
                    while not await asyncio.to_thread(self._stop.wait, every):
                        await self._beat_once(engine)
            except EngineError as error:
                log.warning("the heart has no connection: %s", error)
                await asyncio.to_thread(self._stop.wait, every / 4)

    async def _beat_once(self, engine: Engine) -> None:
        try:
            orders = await beat(engine, self._worker.id, self._worker.board, os.getpid())
        except (EngineError, TimeoutError) as error:
            log.warning("heartbeat missed: %s", str(error) or "no answer in time")
        else:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._worker.obey, orders)
