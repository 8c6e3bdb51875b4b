"""The way to the engine: whatever becomes of the loops of others, a call gets its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import pytest

from penstock.engine import Engine
from penstock.model.errors import EngineError
from penstock.tasks import home as homes
from penstock.tasks.access import Access
from penstock.tasks.home import Home, HomeLost, Opened, Work

PATIENCE = 20.0  # seconds until a test gives up


class FakeEngine:
    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.closed = False

    async def close(self) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.closed = True


class World:
    """An access, the engines it made, and a call that waits until it is let go."""

    def __init__(self) -> None:
        self.engines: list[FakeEngine] = []
        self.access = Access(self.connect)
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.tries: list[bool] = []  # for each try of the call, whether it knew of one before
        self.cancelled = threading.Event()

    async def connect(self) -> Engine:
        self.engines.append(FakeEngine())
        return cast("Engine", self.engines[-1])

    async def work(self, opened: Opened, again: bool) -> str:
        self.tries.append(again)
        self.begun.release()
        try:
            while not self.go_on.is_set():
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"

    def wait_for_begin(self) -> None:
        assert self.begun.acquire(timeout=PATIENCE)

    async def await_begin(self) -> None:
        await asyncio.to_thread(self.wait_for_begin)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(homes, "LOOK", 0.01)
    before = threading.active_count()
    made = World()
    yield made
    made.access.close()
    assert threading.active_count() == before


def from_thread(access: Access, work: Work[str]) -> str:
    return access.run(work, "twin")


def from_loop(access: Access, work: Work[str]) -> str:
    return asyncio.run(access.arun(work))


Caller = Callable[[Access, Work[str]], str]
callers = pytest.mark.parametrize("call", [from_thread, from_loop])


async def nothing(_: Opened, again: bool) -> str:
    return "nothing"


@callers
def test_the_end_of_a_callers_loop_does_not_touch_the_calls_of_others(world: World, call: Caller) -> None:
    async def first_caller(pool: ThreadPoolExecutor) -> Any:
        await world.access.arun(nothing)
        other = pool.submit(call, world.access, world.work)
        await world.await_begin()
        return other

    with ThreadPoolExecutor(1) as pool:
        other = asyncio.run(first_caller(pool))
        world.go_on.set()
        assert other.result(PATIENCE) == "done"
    assert world.tries == [False]


def test_loops_that_come_and_go_share_one_engine(world: World) -> None:
    for _ in range(3):
        assert asyncio.run(world.access.arun(nothing)) == "nothing"
    assert len(world.engines) == 1
    world.access.close()
    assert world.engines[0].closed


@callers
def test_a_call_asks_again_when_the_loop_it_borrowed_ends(world: World, call: Caller) -> None:
    async def forgets_to_close(pool: ThreadPoolExecutor) -> Any:
        await world.access.aopen()
        other = pool.submit(call, world.access, world.work)
        await world.await_begin()
        return other

    with ThreadPoolExecutor(1) as pool:
        other = asyncio.run(forgets_to_close(pool))
        world.wait_for_begin()
        world.go_on.set()
        assert other.result(PATIENCE) == "done"
    # A loop that ends still runs for a moment, and may be asked once more.
    assert world.tries in ([False, True], [False, True, True])


@callers
def test_a_call_asks_again_when_the_app_is_closed_under_it(world: World, call: Caller) -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(call, world.access, world.work)
        world.wait_for_begin()
        world.access.close()
        world.wait_for_begin()
        world.go_on.set()
        assert other.result(PATIENCE) == "done"
    assert world.tries == [False, True]
    assert [engine.closed for engine in world.engines] == [True, False]


@callers
def test_a_call_goes_on_when_the_app_moves_to_a_loop(world: World, call: Caller) -> None:
    async def move(pool: ThreadPoolExecutor) -> None:
        await world.access.aopen()
        await world.await_begin()
        world.go_on.set()
        assert await asyncio.wrap_future(other) == "done"
        await world.access.aclose()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(call, world.access, world.work)
        world.wait_for_begin()
        asyncio.run(move(pool))
    assert world.tries == [False, True]
    assert [engine.closed for engine in world.engines] == [True, True]


def test_a_loop_that_leaves_its_block_lets_the_others_stay(world: World) -> None:
    entered, left = threading.Event(), threading.Event()

    async def other() -> str:
        await world.access.aopen()
        entered.set()
        await asyncio.to_thread(left.wait, PATIENCE)
        answer = await world.access.arun(nothing)
        await world.access.aclose()
        return answer

    async def first(pool: ThreadPoolExecutor) -> Any:
        await world.access.aopen()
        answer = pool.submit(asyncio.run, other())
        await asyncio.to_thread(entered.wait, PATIENCE)
        await world.access.aclose()
        return answer

    with ThreadPoolExecutor(1) as pool:
        answer = asyncio.run(first(pool))
        left.set()
        assert answer.result(PATIENCE) == "nothing"
    assert [engine.closed for engine in world.engines] == [True, True]


def test_a_call_to_a_loop_that_has_stopped_does_not_wait_for_it(world: World) -> None:
    loop = asyncio.new_event_loop()
    stopped = Home(loop, world.connect)
    with pytest.raises(HomeLost):
        stopped.fetch(partial(stopped.do, nothing))
    with pytest.raises(HomeLost):
        asyncio.run(stopped.afetch(partial(stopped.do, nothing)))
    loop.close()
    with pytest.raises(HomeLost):
        stopped.fetch(partial(stopped.do, nothing))


def test_a_caller_that_is_cancelled_takes_its_call_along(world: World) -> None:
    async def gives_up() -> None:
        call = asyncio.create_task(world.access.arun(world.work))
        await world.await_begin()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(gives_up())
    assert world.cancelled.wait(PATIENCE)
    assert world.tries == [False]


@callers
def test_a_timeout_of_the_work_itself_reaches_the_caller(world: World, call: Caller) -> None:
    async def slow(_: Opened, again: bool) -> str:
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        call(world.access, slow)


def test_a_block_on_a_loop_uses_that_very_loop(world: World) -> None:
    async def where(_: Opened, again: bool) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def inside() -> None:
        await world.access.aopen()
        assert await world.access.arun(where) is asyncio.get_running_loop()
        assert world.access.engine is cast("Engine", world.engines[0])
        await world.access.aclose()

    asyncio.run(inside())


def test_an_engine_of_another_loop_is_refused_by_name(world: World) -> None:
    async def look() -> None:
        await world.access.arun(nothing)
        with pytest.raises(EngineError, match="another event loop"):
            _ = world.access.engine

    asyncio.run(look())


def test_an_app_that_could_not_be_opened_is_not_open(world: World) -> None:
    async def refuse() -> Engine:
        raise EngineError("no")

    access = Access(refuse)
    with pytest.raises(EngineError):
        access.open()
    with pytest.raises(EngineError):
        asyncio.run(access.aopen())
    assert not access.is_open
