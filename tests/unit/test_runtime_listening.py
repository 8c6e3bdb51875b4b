"""Waiting for work: with a claim that stands while nothing runs, with open ears only while something does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from pump_kit import begin, pump_app, state, until_ended  # noqa: F401 - fixtures
from runtime_kit import Flaky, no_waiting  # noqa: F401 - fixtures

from penstock import EngineUnavailable, OutcomeUnknown, Penstock, State
from penstock.engine import Order, Orders
from penstock.runtime.running import Stop
from penstock.runtime.worker import Worker

AWAY = EngineUnavailable("away")
LOST = OutcomeUnknown("lost")
QUIET = Orders(order=Order.QUIET)


@contextlib.asynccontextmanager
async def listening(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(worker._pump.listen())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_called(engine: Flaky, verb: str, times: int = 1) -> None:
    async with asyncio.timeout(10):
        while engine.verbs().count(verb) < times:
            await asyncio.sleep(0)


async def rounds(worker: Worker) -> None:
    """What there is to be said is said."""
    async with asyncio.timeout(10):
        while not worker._pump.told:
            await worker._pump.round()


async def test_a_worker_with_nothing_to_do_lets_its_claim_wait_for_work(app: Penstock) -> None:
    worker, engine = await begin(app)
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        job = await app.tasks["hello"].aenqueue(n=1)
        async with asyncio.timeout(10):
            await worker._pump.exchanged()
        await until_ended(worker)
        await worker._pump.round()
        assert await state(app, job.id) is State.COMPLETED
        assert engine.verbs()[:3] == ["claim", "claim_next", "settle"]


async def test_a_worker_that_runs_something_claims_only_when_it_has_heard_of_work(app: Penstock) -> None:
    await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=2)
    async with listening(worker):
        await worker._pump.round()
        await worker._pump.round()
        assert len(worker.executor.running) == 1
        await until_called(engine, "wait")
        assert engine.verbs() == ["claim", "claim", "wait"]
    await worker._drop_all()


async def test_a_worker_listens_to_a_queue_again_as_soon_as_it_has_room_for_it(app: Penstock) -> None:
    await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=2)
    async with listening(worker):
        while not worker._pump.looked_empty:
            await worker._pump.round()
        await until_called(engine, "wait")
        [running] = worker.executor.running.values()
        worker.executor.stop(running, Stop.CANCEL)
        await until_ended(worker)
        pumping = asyncio.create_task(worker._pump.run())
        await until_called(engine, "claim_next")
        pumping.cancel()
        await asyncio.wait([pumping])
    [asked] = [args[0] for verb, args, _ in engine.calls if verb == "claim_next"]
    assert asked.queues["narrow"] == 1


async def test_a_claim_that_stands_is_no_exchange_under_way(app: Penstock) -> None:
    worker, engine = await begin(app)
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        assert worker._pump.told
        assert worker._pump.exhausted


@pytest.mark.parametrize("how", ["quiet", "drain", "wake"])
async def test_a_claim_that_is_not_wanted_any_more_is_released(app: Penstock, how: str) -> None:
    worker, engine = await begin(app)
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        {"quiet": lambda: worker.obey(QUIET), "drain": worker.drain, "wake": worker._pump.wake}[how]()
        await until_called_off(worker)
        await rounds(worker)
        asked = next(args[0].request for verb, args, _ in engine.calls if verb == "claim_next")
        assert [args for verb, args, _ in engine.calls if verb == "release"] == [(worker.id, asked)]
        assert ("claim" in engine.verbs()[engine.verbs().index("release") :]) is (how == "wake")


async def until_called_off(worker: Worker) -> None:
    async with asyncio.timeout(10):
        while worker._pump._hearing is not None and not worker._pump._hearing.done():
            await asyncio.sleep(0)


async def test_a_quiet_worker_hears_nothing_until_it_may_claim_again(app: Penstock) -> None:
    worker, engine = await begin(app)
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        worker.obey(QUIET)
        await until_called_off(worker)
        await rounds(worker)
        heard = engine.verbs()
        for _ in range(20):
            await asyncio.sleep(0)
        assert engine.verbs() == heard
        worker.obey(Orders())
        await worker._pump.round()
        await until_called(engine, "claim_next", 2)


async def test_a_worker_that_runs_something_and_may_claim_no_more_leaves_wake_ups_to_others(
    app: Penstock,
) -> None:
    await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=2)
    async with listening(worker):
        await worker._pump.round()
        await worker._pump.round()
        await until_called(engine, "wait")
        worker.drain()
        await until_called_off(worker)
        for _ in range(20):
            await asyncio.sleep(0)
        assert engine.verbs() == ["claim", "claim", "wait"]
    await worker._drop_all()


@pytest.mark.parametrize("verb", ["wait", "claim_next"])
async def test_listening_survives_an_engine_that_is_away(app: Penstock, verb: str) -> None:
    if verb == "wait":
        await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=2)
    engine.before[verb] = [AWAY]
    async with listening(worker) as task:
        while not worker._pump.looked_empty:
            await worker._pump.round()
        await until_called(engine, verb, 2)
        assert not task.done()
    await worker._drop_all()


async def test_a_standing_claim_whose_answer_was_lost_is_released(app: Penstock) -> None:
    worker, engine = await begin(app)
    engine.after["claim_next"] = [LOST]
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        job = await app.tasks["hello"].aenqueue(n=1)
        pumping = asyncio.create_task(worker._pump.run())
        async with asyncio.timeout(10):
            while await state(app, job.id) is not State.COMPLETED:
                await asyncio.sleep(0)
        pumping.cancel()
        await asyncio.wait([pumping])
    asked = next(args[0].request for verb, args, _ in engine.calls if verb == "claim_next")
    assert [args for verb, args, _ in engine.calls if verb == "release"] == [(worker.id, asked)]
    found = await app.engine.get(job.id)
    assert found is not None
    assert found.attempt == 1


async def test_what_is_brought_after_the_lease_is_not_begun(app: Penstock) -> None:
    worker, engine = await begin(app)
    async with listening(worker):
        await worker._pump.round()
        await until_called(engine, "claim_next")
        worker.board.beaten(-1_000_000.0)
        job = await app.tasks["hello"].aenqueue(n=1)
        async with asyncio.timeout(10):
            await worker._pump.exchanged()
    assert await state(app, job.id) is State.ACTIVE, "it was claimed, and is for the next rescue"
    assert worker.executor.running == {}
    assert worker.expired
