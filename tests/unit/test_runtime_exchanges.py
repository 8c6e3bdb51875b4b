"""Exchanges side by side: while the engine writes one, the handlers fill the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from runtime_kit import Flaky, make_app, make_worker

from penstock import OutcomeUnknown, Penstock, Snooze, State
from penstock.engine import Engine, Orders, Rhythm, Want
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.runtime.worker import Worker

SLOTS = 4


class Slow(Flaky):
    """The real engine; a settle is held until it is let go."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.held: list[asyncio.Event] = []
        self.arrived = asyncio.Event()

    async def settle(self, *args: Any, **more: Any) -> Any:
        let_go = asyncio.Event()
        self.held.append(let_go)
        self.arrived.set()
        await let_go.wait()
        return await Flaky.__getattr__(self, "settle")(*args, **more)


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("narrow", concurrency=SLOTS)

    @made.task(queue="narrow")
    async def narrow() -> None: ...

    @made.task
    async def hello() -> None: ...

    @made.task
    async def later() -> None:
        raise Snooze(3)

    async with made:
        yield made


@pytest.fixture
def _few_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteEngine, "rhythm", Rhythm(ends=2))
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 0.0)


async def begin(app: Penstock, engine: Any) -> Worker:
    worker = make_worker(app, engine, slots=SLOTS)
    await app.engine.register(worker.info(), 60.0)
    return worker


async def with_one_settling(app: Penstock, task: str) -> tuple[Worker, Slow, asyncio.Task[None]]:
    """A worker that has run one batch of `task`, whose settle is under way and held."""
    await app.aenqueue_many(app.tasks[task].call() for _ in range(SLOTS))
    engine = Slow(app.engine)
    worker = await begin(app, engine)
    await worker._pump.round()
    while worker.executor.running:
        await asyncio.sleep(0)
    first = asyncio.create_task(worker._pump.round())
    await engine.arrived.wait()
    return worker, engine, first


async def let_go(engine: Slow, *rounds: asyncio.Task[None]) -> None:
    for held in engine.held:
        held.set()
    await asyncio.gather(*rounds)


async def run_more(worker: Worker, app: Penstock, jobs: int) -> None:
    """Have the worker run jobs besides those under way."""
    await app.aenqueue_many(app.tasks["hello"].call() for _ in range(jobs))
    want = Want(worker.id, "more", {"default": jobs}, jobs, worker.options.fingerprints(), jobs)
    worker.executor.offer((await app.engine.claim(want)).claims)
    while worker.executor.running:
        await asyncio.sleep(0)


@pytest.mark.usefixtures("_few_are_worth_it")
async def test_enough_ends_go_beside_an_exchange_that_is_under_way(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "hello")
    await run_more(worker, app, 2)
    second = asyncio.create_task(worker._pump.round())
    while len(engine.held) < 2:
        await asyncio.sleep(0)
    assert not first.done()
    await let_go(engine, first, second)
    assert worker.settled == SLOTS + 2


async def test_no_more_calls_go_at_once_than_the_engine_is_good_for(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteEngine, "rhythm", Rhythm(calls=3, ends=2))
    engine = Slow(app.engine)
    worker = await begin(app, engine)
    talking = asyncio.create_task(worker._pump.run())
    for calls in (1, 2, 3, 3):
        await run_more(worker, app, 2)
        while len(engine.held) < calls:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(engine.held) == 3
    talking.cancel()


async def test_few_ends_wait_for_the_answer(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "hello")
    second = asyncio.create_task(worker._pump.round())
    await asyncio.sleep(0)
    assert len(engine.held) == 1
    await let_go(engine, first, second)


@pytest.mark.usefixtures("_few_are_worth_it")
async def test_what_is_asked_for_counts_as_taken_until_it_is_answered(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "narrow")
    room = worker._pump._room
    assert room.per_queue(worker.executor, 100).get("narrow") is None
    await let_go(engine, first)
    assert room.per_queue(worker.executor, 100)["narrow"] == SLOTS


@pytest.mark.usefixtures("_few_are_worth_it")
async def test_claims_that_arrive_after_the_order_to_drain_are_handed_back_unrun(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "hello")
    late = await app.tasks["hello"].aenqueue()
    worker.drain()
    await let_go(engine, first)
    assert not worker.executor.running
    last = asyncio.create_task(worker._pump.round())
    while not engine.held[1:]:
        await asyncio.sleep(0)
    await let_go(engine, last)
    found = await app.engine.get(late.id)
    assert found is not None
    assert (found.state, found.attempt) == (State.WAITING, 0)


@pytest.mark.usefixtures("_few_are_worth_it")
async def test_ends_in_doubt_are_told_apart_from_those_beside_them(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "hello")
    engine.after["settle"] = [OutcomeUnknown("lost")]
    await let_go(engine, first)
    await app.aenqueue_many(app.tasks["hello"].call() for _ in range(2))
    worker._pump.wake()
    rounds = [asyncio.create_task(worker._pump.round()) for _ in range(2)]
    while len(engine.held) < 2:
        await asyncio.sleep(0)
    await let_go(engine, *rounds[:1])
    settles = [(len(args[0]), more["again"]) for verb, args, more in engine.calls if verb == "settle"]
    assert settles[:2] == [(SLOTS, False), (SLOTS, True)]
    assert worker._pump.refused == 0
    await let_go(engine)
    rounds[1].cancel()


@pytest.mark.parametrize("kept_by", ["pause", "late heartbeat"])
async def test_a_worker_goes_on_when_what_kept_it_from_claiming_is_over(app: Penstock, kept_by: str) -> None:
    worker = await begin(app, app.engine)
    if kept_by == "pause":
        worker.obey(Orders(paused=frozenset({"default", "narrow"})))
    else:
        worker.board.beaten(time.monotonic() - 45)  # of a lease of 60
    job = await app.tasks["hello"].aenqueue()
    running = asyncio.create_task(worker.run())
    while not worker._pump._kick._waiters:  # type: ignore[attr-defined]
        await asyncio.sleep(0)
    if kept_by == "pause":
        worker.obey(Orders())
    else:
        worker.board.beaten(time.monotonic())
    await job.aresult(10)
    worker.drain()
    await running


async def test_a_job_that_comes_again_is_looked_for_from_when_its_end_is_written(app: Penstock) -> None:
    await app.tasks["later"].aenqueue()
    engine = Slow(app.engine)
    worker = await begin(app, engine)
    due: list[float] = []
    worker._pump._due_in = due.append
    await worker._pump.round()
    while worker.executor.running:
        await asyncio.sleep(0)
    settling = asyncio.create_task(worker._pump.round())
    await engine.arrived.wait()
    assert due == [], "it is nowhere to be found yet"
    engine.held[0].set()
    await settling
    assert due == [3.0]


async def test_ends_of_an_exchange_that_was_given_up_are_told_again(app: Penstock) -> None:
    worker, engine, first = await with_one_settling(app, "hello")
    first.cancel()
    await asyncio.wait([first])
    assert not worker._pump.told
    again = asyncio.create_task(worker._pump.round())
    while len(engine.held) < 2:
        await asyncio.sleep(0)
    await let_go(engine, again)
    settles = [(args[0], more["again"]) for verb, args, more in engine.calls if verb == "settle"]
    assert [(len(ends), told) for ends, told in settles] == [(SLOTS, True)]
    assert worker._pump.told
