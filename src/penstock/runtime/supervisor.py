"""The supervisor: a process without user code that beats for, watches and restarts worker processes.

A handler that holds the GIL stops every thread of its process; it cannot stop this one. So a worker's lease
says only whether its process lives, never how long a job takes. When a worker process dies the supervisor
sees it at once and hands its jobs back, knowing from the shared board which of them had begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.engine import Engine
from penstock.logs import LogFormat
from penstock.model.errors import EngineError, PenstockError
from penstock.runtime.backoff import Backoff
from penstock.runtime.supervised import BadApp, KilledEarly, Supervised

log = logging.getLogger("penstock.supervisor")

OpenEngine = Callable[[str, str], Awaitable[Engine]]  # url, schema

STEADY = 2.0  # seconds a worker must have worked for the next one to start at once


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorOptions:
    app_ref: str
    processes: int = 1
    wishes: dict[str, Any] = field(default_factory=dict)  # what the command line asks of the app
    log_level: str = "INFO"
    log_format: LogFormat = "console"
    stays: bool = False  # also where all workers were dismissed: others begin when the code changes


class Supervisor:
    """Touched by its event loop only."""

    def __init__(self, options: SupervisorOptions, open_engine: OpenEngine) -> None:
        self._options = options
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._workers: list[Supervised] = []
        self._signals = 0
        self._stopping = asyncio.Event()
        self._anew = asyncio.Event()  # the code has changed; replaced by a new one each time
        self._began = False
        self.problem: str | None = None  # why it could not begin

    async def run(self) -> int:
        """Until told to stop; the exit code."""
        try:
            await asyncio.gather(*(self._keep_one() for _ in range(self._options.processes)))
        finally:
            if self._engine is not None:
                await self._engine.close()
        return 1 if self.problem else 0

    def stop(self) -> None:
        """The first call drains, the second hands running jobs back at once."""
        self._signals += 1
        self._stopping.set()
        if self._signals == 1 and not self.problem:
            log.info("draining; a second signal hands running jobs back at once")
        self._anew.set()
        for worker in self._workers:
            worker.drain(now=self._signals > 1)

    async def restart(self) -> None:
        """Replace every worker by one with the code as it is now; at once where none could start before."""
        self._anew.set()
        self._anew = asyncio.Event()
        for worker in self._workers:
            worker.drain(now=True)

    async def _keep_one(self) -> None:
        """Keep one worker process alive: when it ends, take its jobs back and start another."""
        backoff = Backoff(first=0.1, cap=10.0)
        while not self._stopping.is_set():
            anew = self._anew
            worker = await self._live_one()
            if worker.dismissed and not self._options.stays:
                log.info("an operator has stopped that worker; no other is started in its place")
                return
            if worker.dismissed:
                log.info("an operator has stopped that worker; another is started when the code changes")
                await anew.wait()
            at_once = worker.ended_well or worker.worked >= STEADY
            if at_once or await _within(anew, backoff.next()):
                backoff.reset()

    async def _live_one(self) -> Supervised:
        """One worker process, from start to burial."""
        options = self._options
        worker = Supervised(options.app_ref, options.wishes, options.log_level, options.log_format)
        self._workers.append(worker)
        try:
            await worker.live(self._engine_for)
        except KilledEarly as error:
            log.error("a worker ended before it began: %s", error)
        except EngineError as error:
            # What that worker held is taken back by others, when its lease is over.
            log.error("a worker could not be begun or buried: %s", error)
        except OSError as error:  # too many processes or files: that may pass
            log.error("a worker process could not be started: %s", error)
        except BadApp as error:
            if self._has_begun():
                log.error("the worker could not start: %s", error)
            elif not self._stopping.is_set():
                self.problem = str(error)
                self.stop()
        finally:
            self._has_begun()
            self._workers.remove(worker)
        return worker

    def _has_begun(self) -> bool:
        """Whether a worker ever began: the app and its engine were good then, so what is wrong may pass."""
        self._began = self._began or any(worker.began for worker in self._workers)
        return self._began

    async def _engine_for(self, url: str, schema: str) -> Engine:
        """The engine the workers use, opened once, as the first of them names it."""
        async with self._opening:
            if self._engine is None:
                try:
                    self._engine = await self._open_engine(url, schema)
                except PenstockError as error:
                    raise BadApp(str(error)) from error
            return self._engine


async def _within(event: asyncio.Event, seconds: float) -> bool:
    """Wait so long at most; whether it has come about."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
