"""A worker's parts over the real engine in memory, with an engine around it that fails on demand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from penstock import Context, Penstock, Snooze, SyncContext
from penstock.engine import Engine
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineError
from penstock.model.job import NewJob
from penstock.runtime.board import Board
from penstock.runtime.wire import Terms
from penstock.runtime.worker import Worker
from penstock.tasks.errands import Errand
from penstock.tasks.joblog import Line

URL = "sqlite://:memory:"
TTL = 60.0
TERMS = Terms("worker", 30.0, True)


class Flaky:
    """The real engine; each verb named in `faults` raises its next error, before or after it is done."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.rhythm = engine.rhythm
        self.before: dict[str, list[Exception]] = {}
        self.after: dict[str, list[Exception]] = {}
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._engine, verb)

        async def call(*args: Any, **more: Any) -> Any:
            self.calls.append((verb, args, more))
            if self.before.get(verb):
                raise self.before[verb].pop(0)
            answer = await real(*args, **more)
            if self.after.get(verb):
                raise self.after[verb].pop(0)
            return answer

        return call

    def verbs(self) -> list[str]:
        return [verb for verb, _, _ in self.calls]


class Picky(Flaky):
    """The real engine; it refuses every call that settles one of these jobs."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.bad: frozenset[str] = frozenset()
        self.refused = asyncio.Event()

    async def settle(self, ends: Any, *args: Any, **more: Any) -> Any:
        if any(end.id in self.bad for end in ends):
            self.calls.append(("refused", (ends, *args), more))
            self.refused.set()
            raise EngineError("it cannot be written")
        return await Flaky.__getattr__(self, "settle")(ends, *args, **more)

    def settles(self) -> list[list[str]]:
        """The jobs of each call that settles."""
        return [[end.id for end in args[0]] for verb, args, _ in self.calls if verb in ("refused", "settle")]


def make_app(**settings: Any) -> Penstock:
    return Penstock(URL, clock=FakeClock(), **settings)


def make_worker(app: Penstock, engine: Any = None, **wishes: Any) -> Worker:
    host = app.worker_host(**wishes)
    board = Board.private(host.options.slots, TTL)
    board.beaten(time.monotonic())
    return Worker(engine or app.engine, host.registry, host.options, board)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own back-off takes no time, in every module that imports this."""
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 0.0)


@pytest.fixture(name="app")
async def small_app() -> AsyncIterator[Penstock]:
    """An open app with a task that returns, one that asks to run later, and one that does nothing."""
    made = make_app()

    @made.task
    def add(ctx: SyncContext, a: int) -> int:
        ctx.progress(50)
        return a + 1

    @made.task
    async def later(ctx: Context) -> None:
        raise Snooze(3)

    @made.task
    async def nothing() -> None: ...

    async with made:
        yield made


def expire(app: Penstock) -> None:
    """The time of every registered worker passes; nobody has rescued it yet."""
    clock = app._clock
    assert isinstance(clock, FakeClock)
    clock.advance(TTL + 1)


class Ear:
    """Hears what the handler in a child says, and keeps it."""

    def __init__(
        self,
        on_progress: Callable[[str], Awaitable[None]] | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        self._on_progress = on_progress
        self._answers = answers or {}
        self.told: list[Any] = []
        self.errands: list[Errand] = []
        self.followers: list[NewJob] = []
        self.commits: list[bool] = []
        self.heard = asyncio.Event()

    @property
    def terms(self) -> Terms:
        return TERMS

    def begin(self) -> None: ...

    async def progress(self, text: str) -> None:
        if self._on_progress is not None:
            await self._on_progress(text)
            return
        self.told.append(json.loads(text))
        self.heard.set()

    async def do(self, errand: Errand) -> Any:
        self.errands.append(errand)
        answer = self._answers[errand.verb]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def follow(self, job: NewJob) -> None:
        self.followers.append(job)

    def logged(self, lines: list[Line]) -> None:
        self.logged_lines = lines

    def committed(self, *, answered: bool) -> None:
        self.commits.append(answered)


class FakeProcess:
    """A child that ends when told."""

    def __init__(self, code: int | None = None) -> None:
        self.pid = 2**22 + 1
        self.returncode = code
        self.killed: list[int] = []
        self._over = asyncio.Event()
        if code is not None:
            self._over.set()

    def send_signal(self, number: int) -> None:
        self.killed.append(number)
        self.end(-number)

    def end(self, code: int) -> None:
        self.returncode = code
        self._over.set()

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode
