"""A worker inside a process of one's own: it begins again by itself, and never ends without saying why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from runtime_kit import Flaky, no_waiting  # noqa: F401 - fixtures
from shop_kit import Shop, open_shop, set_  # noqa: F401 - fixtures

from penstock import EngineUnavailable, State, WorkerStuck
from penstock.engine import Engine, Order, Orders
from penstock.model.decide import judge
from penstock.runtime import worker as workers
from penstock.runtime.board import Board
from penstock.runtime.heart import Heart
from penstock.runtime.inprocess import InProcessWorker

AWAY = EngineUnavailable("away")


def over(engine: Any, shop: Shop) -> InProcessWorker:
    """A worker over an engine that fails on demand."""

    @asynccontextmanager
    async def heart_engine() -> AsyncIterator[Engine]:
        yield engine

    return InProcessWorker(replace(shop.app.worker_host(), engine=engine), heart_engine)


async def test_an_in_process_worker_runs_until_drained_and_counts(shop: Shop) -> None:
    worker = shop.app.worker(slots=2)
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["tell"].aenqueue()
    assert await job.aresult(20) == "told"
    worker.drain()
    assert await asyncio.wait_for(running, 20) == 1
    assert await shop.app.ops.workers() == []


async def test_a_worker_told_to_stop_ends_what_it_runs_and_does_not_begin_again(shop: Shop) -> None:
    worker = shop.app.worker(lease=0.6)
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["wait"].aenqueue()
    await set_(shop.began)
    (info,) = await shop.app.ops.workers()
    await shop.app.ops.workforce.order(info.name, Order.STOP)
    while not (worker._worker and worker._worker.dismissed):
        await asyncio.sleep(0.01)
    (info,) = await shop.app.ops.workers()
    assert info.memory is None or info.memory > 2**20
    shop.go.set()
    assert await asyncio.wait_for(running, 20) == 1
    assert (await shop.job(job.id)).state is State.COMPLETED
    assert await shop.app.ops.workers() == []


async def test_a_worker_drained_before_it_ran_does_nothing(shop: Shop) -> None:
    worker = shop.app.worker()
    worker.drain()
    assert await worker.run() == 0


async def test_an_in_process_worker_that_was_given_up_begins_again_under_a_new_id(shop: Shop) -> None:
    worker = shop.app.worker()
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["wait"].aenqueue()
    await set_(shop.began)
    first = worker._worker
    assert first is not None
    shop.began.clear()
    first.obey(Orders(given_up=True))
    await set_(shop.began)
    shop.go.set()
    assert await job.aresult(20) == job.key
    assert worker._worker is not None
    assert worker._worker.id != first.id
    worker.drain()
    await asyncio.wait_for(running, 20)
    assert (await shop.job(job.id)).attempt == 1


@pytest.mark.parametrize("how", ["drained", "cancelled"])
async def test_a_job_is_not_handed_back_while_its_thread_runs(shop: Shop, how: str) -> None:
    worker = shop.app.worker(grace=0.0)
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["hung"].aenqueue()
    await set_(shop.began)
    worker.drain(now=True) if how == "drained" else running.cancel()
    while worker._worker is None or not worker._worker.executor.in_threads[0].stop:
        await asyncio.sleep(0.001)
    assert (await shop.job(job.id)).state is State.ACTIVE
    shop.go.set()
    await asyncio.wait({running}, timeout=20)
    assert (await shop.job(job.id)).state is State.COMPLETED
    assert await shop.app.ops.workers() == []


async def test_cancelled_twice_it_leaves_its_threads_to_the_end_of_the_lease(shop: Shop) -> None:
    worker = shop.app.worker()
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["hung"].aenqueue()
    await set_(shop.began)
    running.cancel()
    while worker._worker is None or not worker._worker.executor.in_threads[0].stop:
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)
    assert (await shop.job(job.id)).state is State.ACTIVE
    assert len(await shop.app.ops.workers()) == 1


async def test_an_outage_while_it_was_given_up_does_not_end_it(shop: Shop) -> None:
    engine = Flaky(shop.app.engine)
    worker = over(engine, shop)
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["wait"].aenqueue()
    await set_(shop.began)
    shop.began.clear()
    engine.before["rescue_worker"] = [AWAY]
    engine.before["register"] = [AWAY, AWAY, AWAY]
    first = worker._worker
    assert first is not None
    first.obey(Orders(given_up=True))
    while engine.before["register"] or worker._worker is first:
        await asyncio.sleep(0.001)
    # Nobody could take its job back at once; others do when the lease is over.
    await shop.app.engine.rescue_worker(first.id, frozenset(), judge)
    shop.go.set()
    assert await job.aresult(20) == job.key
    worker.drain()
    assert await asyncio.wait_for(running, 20) == 1


async def test_an_engine_that_is_away_from_the_start_is_told(shop: Shop) -> None:
    engine = Flaky(shop.app.engine)
    engine.before["register"] = [AWAY]
    with pytest.raises(EngineUnavailable):
        await over(engine, shop).run()


async def test_a_worker_that_waits_for_its_engine_can_be_drained(shop: Shop) -> None:
    engine = Flaky(shop.app.engine)
    engine.before["register"] = [AWAY]
    worker = over(engine, shop)
    again = asyncio.create_task(worker._registered_again())
    while engine.before["register"]:
        await asyncio.sleep(0)
    worker.drain()
    assert await again is None


async def test_what_broke_a_worker_is_told_though_its_jobs_cannot_be_handed_back(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Flaky(shop.app.engine)
    engine.before["rescue_worker"] = [AWAY]

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("penstock.runtime.sweeper.Sweeper.run", broken)
    with caplog.at_level(logging.WARNING, "penstock.worker"), pytest.raises(ZeroDivisionError):
        await over(engine, shop).run()
    assert "comes back when its lease is over" in caplog.text


async def test_too_many_handlers_that_do_not_stop_end_it_with_an_error(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "MAX_STUCK", 1)
    job = await shop.app.tasks["overrun"].aenqueue()
    with (
        caplog.at_level(logging.ERROR, "penstock.worker"),
        pytest.raises(WorkerStuck, match="penstock worker"),
    ):
        await asyncio.wait_for(shop.app.worker().run(), 20)
    assert "only a new process helps" in caplog.text
    assert (await shop.job(job.id)).state is State.FAILED
    assert await shop.app.ops.workers() == []


async def test_a_heart_without_a_connection_tries_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []
    beaten = asyncio.Event()
    loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def heart_engine() -> AsyncIterator[Engine]:
        tries.append(1)
        if len(tries) < 3:
            raise AWAY
        yield shop.app.engine

    async def beat_once(*_: object) -> None:
        loop.call_soon_threadsafe(beaten.set)

    monkeypatch.setattr(Heart, "_beat_once", beat_once)
    worker = workers.Worker(
        shop.app.engine,
        shop.app.registry,
        replace(shop.app.worker_host().options, lease=0.01),
        Board.private(1, 60.0),
    )
    heart = Heart(worker, heart_engine)
    heart.start()
    await asyncio.wait_for(beaten.wait(), 20)
    await heart.stop()
    assert caplog.text.count("no connection") == 2
