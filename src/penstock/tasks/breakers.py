"""`app.breaker`: stop asking a service that is down, in all workers at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Self, TypeAlias, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

from penstock.engine import Engine, Entry
from penstock.model.breaker import Breaker, BreakerState, Circuit
from penstock.model.errors import CircuitOpen, Duration, EngineError, InvalidOption, Signal, in_seconds
from penstock.model.limits import MOST_COUNTED
from penstock.model.names import check_name
from penstock.tasks.access import Access
from penstock.tasks.inherit import count

T = TypeVar("T")
Ask: TypeAlias = Callable[[Engine], Awaitable[T]]

log = logging.getLogger("penstock.worker")

TOLD_FOR = 3_600.0  # seconds after which an engine is told again that there is this breaker
PATIENCE = 5.0  # seconds after which to ask again, where only a probe's end tells more


def make_breaker(
    name: str,
    *,
    threshold: int,
    reset: Duration,
    probes: int,
    failure_rate: float | None,
    window: Duration,
    minimum: int,
) -> Breaker:
    """A breaker with every number checked."""
    what = f"breaker {check_name('breaker', name)!r}"
    if failure_rate is not None and not (isinstance(failure_rate, float | int) and 0 < failure_rate <= 1):
        raise InvalidOption(f"failure_rate= of {what} is a share, more than 0 and at most 1")
    if not (seconds := in_seconds(f"reset= of {what}", reset)):
        raise InvalidOption(f"reset= of {what} is 0: it would never be open")
    if not (counted := in_seconds(f"window= of {what}", window)):
        raise InvalidOption(f"window= of {what} is 0: it would never open")
    return Breaker(
        name=name,
        threshold=count(f"threshold= of {what}", threshold, 1, MOST_COUNTED),
        reset=seconds,
        probes=count(f"probes= of {what}", probes, 1, MOST_COUNTED),
        failure_rate=None if failure_rate is None else float(failure_rate),
        window=counted,
        minimum=count(f"minimum= of {what}", minimum, 1, MOST_COUNTED),
    )


class CircuitBreaker:
    """A breaker of an app. Tasks name it in `needs=`; inside a handler, `async with` or `with` it.

    While it is open the block raises CircuitOpen, which snoozes the job until the service is tried again. An
    exception that leaves the block counts as a failure of the service, unless it is a signal of Penstock's.
    """

    def __init__(self, breaker: Breaker, access: Access) -> None:
        self.declared = breaker
        self._access = access
        self._told: WeakKeyDictionary[Engine, float] = WeakKeyDictionary()  # engines that know it, until when
        self._permits: ContextVar[tuple[str, ...]] = ContextVar(breaker.name, default=())

    @property
    def name(self) -> str:
        return self.declared.name

    def __repr__(self) -> str:
        return f"<breaker {self.name}>"

    # -- around the use of a service --------------------------------------------------------------------
    async def __aenter__(self) -> Self:
        permit = uuid4().hex
        self._go(permit, await self._arun(lambda engine: engine.enter_breaker(self.name, permit)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        permit = self._leave()
        with self._what_was_done_stands():
            await self._arun(lambda engine: engine.report_breaker(self.name, permit, _healthy(error)))

    def __enter__(self) -> Self:
        permit = uuid4().hex
        self._go(permit, self._run(lambda engine: engine.enter_breaker(self.name, permit), "async with"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        permit = self._leave()
        with self._what_was_done_stands():
            self._run(lambda engine: engine.report_breaker(self.name, permit, _healthy(error)), "async with")

    def _go(self, permit: str, entry: Entry) -> None:
        if not entry.allowed:
            raise CircuitOpen(self.name, PATIENCE if entry.retry_in is None else entry.retry_in)
        self._permits.set((*self._permits.get(), permit))

    def _leave(self) -> str:
        *outer, permit = self._permits.get()
        self._permits.set(tuple(outer))
        return permit

    @contextmanager
    def _what_was_done_stands(self) -> Iterator[None]:
        """An engine that is away must not make a failure of a call that went well, and have it done again."""
        try:
            yield
        except EngineError as error:
            log.warning("breaker %r could not be told how the use of its service ended: %s", self.name, error)

    # -- by hand ----------------------------------------------------------------------------------------
    def state(self) -> BreakerState:
        """How it stands."""
        return self._run(self._look, "astate")

    async def astate(self) -> BreakerState:
        """How it stands."""
        return await self._arun(self._look)

    def reset(self) -> None:
        """Close it, with nothing counted."""
        self._run(lambda engine: engine.set_breaker(self.name, Circuit.CLOSED), "areset")

    async def areset(self) -> None:
        """Close it, with nothing counted."""
        await self._arun(lambda engine: engine.set_breaker(self.name, Circuit.CLOSED))

    async def _look(self, engine: Engine) -> BreakerState:
        return next(found for found in await engine.breakers() if found.breaker.name == self.name)

    # -- the way to the engine --------------------------------------------------------------------------
    def _run(self, ask: Ask[T], twin: str) -> T:
        return self._access.run(lambda opened, _: self._once_told(opened.engine, ask), twin)

    async def _arun(self, ask: Ask[T]) -> T:
        return await self._access.arun(lambda opened, _: self._once_told(opened.engine, ask))

    async def _once_told(self, engine: Engine, ask: Ask[T]) -> T:
        if time.monotonic() >= self._told.get(engine, 0.0):  # there may be no worker that tells of it
            await engine.put_breakers([self.declared])
            self._told[engine] = time.monotonic() + TOLD_FOR
        return await ask(engine)


def _healthy(error: BaseException | None) -> bool | None:
    """What leaving the block tells of the service: nothing, where we ended it ourselves."""
    if error is None:
        return True
    return None if isinstance(error, Signal) or not isinstance(error, Exception) else False
