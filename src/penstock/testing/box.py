"""An app on an engine of its own in memory, for the length of a test."""

from __future__ import annotations

import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic_core import to_jsonable_python

from penstock.app import Penstock
from penstock.engine import Engine, JobFilter
from penstock.model.clock import FakeClock
from penstock.model.decide import judge
from penstock.model.job import Job
from penstock.model.states import State
from penstock.runtime.announce import announce
from penstock.runtime.board import Board
from penstock.runtime.worker import Worker
from penstock.tasks.task import Task
from penstock.testing.at_once import AtOnce

T = TypeVar("T")

MEMORY = "sqlite://:memory:"
PAGE = 200
ENDLESS = 10_000  # runs of one drain() after which something makes jobs for ever
LEASE = 3_600.0


def sandbox(app: Penstock, clock: FakeClock | None = None) -> Box:
    """Move `app` to an empty engine in memory; `with` or `async with` it."""
    return Box(app, clock or FakeClock())


class Box:
    """What a test sees of its jobs. Sync methods for `with`, their async twins for `async with`."""

    def __init__(self, app: Penstock, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock

    # -- life ---------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self._before = self.app.move_to(MEMORY, self.clock, AtOnce(self.app))
        self.app.open()
        self.app.run_on_engine(self._begin, "async with")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.app.close()
        self.app.move_to(*self._before)

    async def __aenter__(self) -> Self:
        self._before = self.app.move_to(MEMORY, self.clock, AtOnce(self.app))
        await self.app.aopen()
        await self._begin(self.app.engine)
        return self

    async def _begin(self, engine: Engine) -> None:
        """Schedules begin with the test, not with its first drain()."""
        await announce(engine, self.app.registry)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.app.aclose()
        self.app.move_to(*self._before)

    def advance(self, seconds: float | timedelta = 0, **more: float) -> None:
        """Move the clock: `advance(30)`, `advance(hours=2)`. Nothing runs until you drain."""
        self.clock.advance(seconds, **more)

    # -- run ----------------------------------------------------------------------------------------
    def drain(self, *, delayed: bool = False, most: int = ENDLESS) -> int:
        """Run every job that is due, and what those enqueue; how many runs.

        With `delayed`, the clock moves on to each next due time until nothing is left: retries and delays
        too, and what a rate or an open breaker holds back. Jobs past their `expire_after` are cancelled.
        After `most` runs it fails: something makes jobs for ever.

        Schedules tick as the clock is moved: what fell due since is fired first, ticks that were passed over
        by their `missed=`. They never end, so `delayed` does not move the clock on to them.
        """
        return self.app.run_on_engine(lambda engine: self._drain(engine, delayed, most), "adrain")

    async def adrain(self, *, delayed: bool = False, most: int = ENDLESS) -> int:
        """`drain()` for async tests: handlers run on the test's own event loop."""
        return await self._drain(self.app.engine, delayed, most)

    async def _drain(self, engine: Engine, delayed: bool, most: int) -> int:
        runs = 0
        while True:
            next_due = await engine.stage(PAGE)
            while await engine.expire(PAGE):
                pass
            worker = await self._burst(engine, most + 1 - runs)
            runs += worker.settled
            if runs > most:
                raise AssertionError(await _endless(engine, most))
            if worker.settled:
                continue
            soonest = min((s for s in (next_due, worker.next_in) if s is not None), default=None)
            if soonest is None or not (delayed or soonest <= 0):
                return runs
            self.clock.advance(soonest)

    async def _burst(self, engine: Engine, most: int) -> Worker:
        host = self.app.worker_host()
        board = Board.private(host.options.slots, LEASE)
        board.beaten(time.monotonic())
        worker = Worker(engine, host.registry, host.options, board)
        await engine.register(worker.info(), LEASE)
        await worker.run(burst=True, most=most)
        await engine.rescue_worker(worker.id, frozenset(), judge)
        return worker

    # -- look ---------------------------------------------------------------------------------------
    def jobs(self, task: Task[..., Any] | None = None, state: State | None = None) -> list[Job]:
        """The jobs there are, in the order they were enqueued."""
        return self.app.run_on_engine(lambda engine: _jobs(engine, task, state), "ajobs")

    async def ajobs(self, task: Task[..., Any] | None = None, state: State | None = None) -> list[Job]:
        """`jobs()` for async tests."""
        return await _jobs(self.app.engine, task, state)

    def assert_enqueued(self, task: Task[..., Any], *, times: int | None = None, **args: Any) -> Job:
        """Fail unless a job of this task with at least these arguments was enqueued; the last such job."""
        return _assert_enqueued(self.jobs(), task, times, args)

    async def aassert_enqueued(self, task: Task[..., Any], *, times: int | None = None, **args: Any) -> Job:
        """`assert_enqueued()` for async tests."""
        return _assert_enqueued(await self.ajobs(), task, times, args)

    def assert_not_enqueued(self, task: Task[..., Any], **args: Any) -> None:
        """Fail if a job of this task with at least these arguments was enqueued."""
        _assert_not_enqueued(self.jobs(), task, args)

    async def aassert_not_enqueued(self, task: Task[..., Any], **args: Any) -> None:
        """`assert_not_enqueued()` for async tests."""
        _assert_not_enqueued(await self.ajobs(), task, args)


async def _endless(engine: Engine, most: int) -> str:
    left = [job.task for job in await engine.jobs(JobFilter(), PAGE) if not job.state.finished]
    names = ", ".join(sorted(set(left))) or "nothing any more"
    return (
        f"drain() does not end: after {most:,} runs there waits {names}. Does a task enqueue itself? "
        "Give it an end; or, where so many runs are meant, give drain(most=…)"
    )


async def _jobs(engine: Engine, task: Task[..., Any] | None, state: State | None) -> list[Job]:
    where = JobFilter(task=None if task is None else task.name, state=state)
    found: list[Job] = []
    while page := await engine.jobs(where, PAGE, found[-1].id if found else None):
        found += page
    return found[::-1]


def _matching(jobs: list[Job], task: Task[..., Any], wanted: Any) -> list[Job]:
    return [j for j in jobs if j.task == task.name and {**j.args, **wanted} == j.args]


def _assert_enqueued(jobs: list[Job], task: Task[..., Any], times: int | None, args: dict[str, Any]) -> Job:
    __tracebackhide__ = True
    if times == 0:
        raise ValueError("times=0 leaves no job to return; use assert_not_enqueued()")
    wanted = to_jsonable_python(args)
    found = _matching(jobs, task, wanted)
    if found and times in (None, len(found)):
        return found[-1]
    raise AssertionError(_told(jobs, f"{times or 'a'} job(s) of {task.name!r} with {wanted}", len(found)))


def _assert_not_enqueued(jobs: list[Job], task: Task[..., Any], args: dict[str, Any]) -> None:
    __tracebackhide__ = True
    wanted = to_jsonable_python(args)
    if found := _matching(jobs, task, wanted):
        raise AssertionError(_told(jobs, f"no job of {task.name!r} with {wanted}", len(found)))


def _told(jobs: list[Job], expected: str, found: int) -> str:
    seen = "\n".join(f"  {j.task} {j.args} ({j.state})" for j in jobs) or "  nothing"
    return f"expected {expected}, found {found}. Enqueued was:\n{seen}"
