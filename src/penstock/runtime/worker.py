"""A worker: claims jobs, runs them, settles them. It is beaten for by a supervisor, or by its own heart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

from penstock.alerts.watch import AlertWatch
from penstock.engine import Engine, Order, Orders, WorkerInfo
from penstock.feed.publisher import WorkerPublisher
from penstock.model.errors import EngineError
from penstock.runtime.account import Account
from penstock.runtime.announce import announce
from penstock.runtime.backoff import Backoff
from penstock.runtime.board import Board
from penstock.runtime.executor import Executor
from penstock.runtime.links import Lines
from penstock.runtime.options import WorkerOptions
from penstock.runtime.pump import Pump
from penstock.runtime.running import Stop
from penstock.runtime.scheduler import Scheduler
from penstock.runtime.solo import SoloPool
from penstock.runtime.sweeper import Sweeper
from penstock.runtime.warm import Warm
from penstock.runtime.watchdog import Watchdog
from penstock.tasks.registry import Registry

log = logging.getLogger("penstock.worker")

TICK = 0.1  # seconds between looks at deadlines, at the lease, and at what does not get on
LAST_WORDS = 2.0  # seconds for the last settlements when the grace period is over
MAX_STUCK = 8  # runs that do not stop, before the worker ends so that its process can be replaced


class Worker:
    """One process's worth of slots over one engine. Touched by the event loop only."""

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        options: WorkerOptions,
        board: Board,
        warm: Warm | None = None,
    ) -> None:
        self.id = str(uuid4())
        self.options = options
        self.board = board
        self._engine = engine
        self._registry = registry
        self._feed = WorkerPublisher(engine)
        self.account = Account(engine, options.now, counts=options.metrics, feed=self._feed)
        self._scheduler = Scheduler(engine, registry)
        ticks = self._scheduler.due_in
        self._sweeper = Sweeper(engine, options, self.account, registry=registry, tick_in=ticks)
        self._pump = Pump(engine, self.id, board, options, self.account, self._sweeper.due_in)
        solo = SoloPool(warm or Warm(options.app_ref))
        lines = Lines(engine, board, self.id, self.account, options.unkept)
        self.executor = Executor(registry, board, solo, lines, self._pump.ended)
        self._pump.executor = self.executor
        self._watchdog = Watchdog(self._on_the_loop)
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self.dismissed = False  # an operator has told it to stop: no other takes its place
        self.recycle = False  # too many runs do not stop: only a new process helps

    def info(self) -> WorkerInfo:
        return WorkerInfo(
            id=self.id,
            name=f"{socket.gethostname()}:{os.getpid()}",
            queues=tuple(self.options.queues),
            slots=self.options.slots,
        )

    @property
    def expired(self) -> bool:
        """This worker was given up: it must stop, and begin again under a new id."""
        return self._pump.expired or self.board.lost()

    @property
    def settled(self) -> int:
        return self._pump.settled

    @property
    def next_in(self) -> float | None:
        """Seconds after which more may be had, where a limit holds it back; None: none, or nobody knows."""
        return self._pump.next_in

    # -- orders -------------------------------------------------------------------------------------
    def obey(self, orders: Orders) -> None:
        """Do what a heartbeat brought back."""
        if orders.given_up:
            self.board.give_up()
        for order in orders.cancel:
            running = self.executor.running.get(order.token)
            if running is not None:
                self.executor.stop(running, Stop.CANCEL)
            else:
                self._pump.hand_back(self.executor.take_back(token=order.token))
        self._pump.pause(orders.paused)
        self._pump.hush(quiet=orders.order is Order.QUIET)
        if orders.order is Order.STOP and not self.dismissed:
            log.info("told to stop by an operator: what runs may finish, nothing more is claimed")
            self.dismissed = True
            self.drain()
        self._feed.watched(orders.watched)
        self.account.look()

    def drain(self, *, now: bool = False) -> None:
        """Stop claiming, let running jobs finish within the grace period (or at once hand them back)."""
        self._pump.stop_claiming()
        self._stopping.set()
        if now:
            self._now.set()

    # -- life ---------------------------------------------------------------------------------------
    async def run(self, *, burst: bool = False, most: int | None = None) -> None:
        """Work until told to drain; with `burst`, until nothing is left to do, or `most` runs are settled.

        Where it ends by an exception a run may have done that: the board keeps those that are not settled.
        """
        await self._announce()
        self._pump.thorough = burst
        if burst:
            await self._scheduler.catch_up()
        await self._feed.look()
        upkeep = [self._sweeper.run(), self._scheduler.run(), self.account.run(), self._feed.run()]
        if self.options.alerts is not None and not burst:
            watch = AlertWatch(self._engine, self._registry, self.options.alerts, self.id, stages=False)
            upkeep.append(watch.run())
        tasks = [asyncio.create_task(loop) for loop in (self._pump.listen(), self._watch(), *upkeep)]
        pumping = asyncio.create_task(self._pump.run())
        if burst:
            tasks.append(asyncio.create_task(self._until_idle(most)))
        stop = asyncio.create_task(self._stopping.wait())
        self._watchdog.start()
        try:
            await self._first(pumping, stop, *tasks)
            if not self.expired:
                await self._finish(pumping)
            if self.expired:
                log.error("this worker was given up: its heartbeat was not seen for %g s", self.options.lease)
            self.board.clear()
        finally:
            await _cancel(pumping, stop, *tasks)
            self._watchdog.stop()
            await self._drop_all()
            await self.executor.close()
            await self.account.tell()
            await self._feed.last_words()

    async def _announce(self) -> None:
        """Nothing is claimed before the engine knows the limits, and when jobs are due."""
        backoff = Backoff()
        while not (self.expired or self._stopping.is_set()):
            try:
                await announce(self._engine, self._registry)
            except EngineError as error:
                log.warning("limits and schedules could not be declared: %s", error)
                await asyncio.sleep(backoff.next())
            else:
                return

    async def outlast(self) -> None:
        """After `run`: until the threads of its handlers have ended, and what they have done is settled.

        Handed back while its thread goes on in this process, a job would run twice at once.
        """
        self.drain()
        for running in self.executor.in_threads:
            self.executor.stop(running, Stop.SHUTDOWN)
            log.warning("job %s (%s) still runs in its thread: waiting", running.claim.id, running.claim.task)
        while self.executor.in_threads and not self.expired:  # noqa: ASYNC110 - the heart may end it too
            await asyncio.sleep(TICK)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while not (self._pump.told or self.expired):
                    await self._pump.round()
        await self._feed.last_words()

    async def _first(self, *tasks: asyncio.Task[Any]) -> None:
        """Until one of the loops ends; one that broke tells why."""
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def _until_idle(self, most: int | None) -> None:
        while not self._pump.exhausted and (most is None or self.settled < most):
            await self._pump.exchanged()
        self.drain()

    async def _watch(self) -> None:
        while not self.expired:
            await asyncio.sleep(TICK)
            self._watchdog.alive()
            self.executor.tick()
            self._pump.look_again()
            self._pump.relieve()
            if self.executor.stuck >= MAX_STUCK and not self.recycle:
                log.error("%d runs do not stop; this worker ends: only a new process helps", MAX_STUCK)
                self.recycle = True
                self.drain()

    async def _finish(self, pumping: asyncio.Task[None]) -> None:
        """The grace period: running jobs end by themselves, or are ended."""
        await _first_of(self._until_empty(), self._now.wait(), pumping, within=self.options.grace)
        for running in list(self.executor.running.values()):
            self.executor.stop(running, Stop.SHUTDOWN)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self._until_stopped()

    async def _until_empty(self) -> None:
        while not self._pump.idle:
            await self._pump.exchanged()

    async def _until_stopped(self) -> None:
        """Until what can be stopped has ended and is settled: nobody can stop a thread."""
        while not self._pump.told or any(run.handle for run in self.executor.running.values()):
            await self._pump.exchanged()

    async def _drop_all(self) -> None:
        """Whatever still runs is not ours any more, or is handed back when the process is gone."""
        for running in list(self.executor.running.values()):
            if running.handle is not None:
                running.settled = True
                await _cancel(running.handle)

    def _on_the_loop(self) -> list[str]:
        """Read from the watchdog's thread, while the loop stands still."""
        return [f"{r.claim.task} {r.claim.id}" for r in tuple(self.executor.running.values()) if r.handle]


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1.0)


async def _first_of(*awaitables: Coroutine[Any, Any, Any] | asyncio.Task[Any], within: float) -> None:
    tasks = [asyncio.ensure_future(a) for a in awaitables]
    try:
        await asyncio.wait(tasks, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, given in zip(tasks, awaitables, strict=True):
            if task is not given:
                task.cancel()
