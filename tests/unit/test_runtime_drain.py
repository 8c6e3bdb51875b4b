"""A worker ends: drained, given up, or broken."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from runtime_kit import Picky, make_worker
from shop_kit import Shop, begin, open_shop, set_  # noqa: F401 - fixtures

from penstock import State
from penstock.engine import Engine, Orders
from penstock.runtime import worker as workers


# -- drain ------------------------------------------------------------------------------------------
async def test_a_drain_lets_running_jobs_finish(shop: Shop) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    worker.drain()
    later = await shop.app.tasks["wait"].aenqueue()
    shop.go.set()
    await asyncio.wait_for(running, 20)
    assert (await shop.job(job.id)).state is State.COMPLETED
    assert (await shop.job(later.id)).state is State.WAITING


@pytest.mark.parametrize("how", ["now", "grace over"])
async def test_what_does_not_finish_in_time_is_handed_back_without_its_attempt(shop: Shop, how: str) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop, grace=0.01 if how == "grace over" else 60.0)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    worker.drain(now=how == "now")
    await asyncio.wait_for(running, 20)
    found = await shop.job(job.id)
    assert (found.state, found.attempt) == (State.WAITING, 0)


async def test_a_worker_that_lost_its_lease_stops_and_settles_nothing(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    with caplog.at_level(logging.ERROR, "penstock.worker"):
        worker.obey(Orders(given_up=True))
        await asyncio.wait_for(running, 20)
    assert worker.expired
    assert "given up" in caplog.text
    assert (await shop.job(job.id)).state is State.ACTIVE
    assert worker.settled == 0


async def test_a_loop_that_breaks_tells_why(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = await begin(shop)

    async def broken() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(worker._sweeper, "run", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        await worker.run()


async def test_where_a_job_breaks_its_worker_the_runs_that_are_not_settled_stay_on_the_board(
    shop: Shop,
) -> None:
    await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    begun = worker.board.begun()
    shop.loops = {running}
    await shop.app.tasks["cancel_loops"].aenqueue()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(worker.board.begun()) == 2
    assert worker.board.begun() > begun


async def test_an_end_is_on_the_board_until_it_is_settled(shop: Shop) -> None:
    worker = await begin(shop)
    settle = asyncio.Event()
    engine = worker._pump._engine = Slow(shop.app.engine, settle)  # type: ignore[assignment]
    job = await shop.app.tasks["tell"].aenqueue()
    running = asyncio.create_task(worker.run(burst=True))
    await asyncio.wait_for(engine.asked.wait(), 20)
    assert not worker.executor.running
    assert len(worker.board.begun()) == 1
    settle.set()
    await asyncio.wait_for(running, 20)
    assert worker.board.begun() == frozenset()
    assert (await shop.job(job.id)).state is State.COMPLETED


class Slow:
    """The real engine; it settles when it is told to."""

    def __init__(self, engine: Engine, may: asyncio.Event) -> None:
        self._engine = engine
        self._may = may
        self.asked = asyncio.Event()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._engine, verb)

    async def settle(self, *args: Any, **more: Any) -> Any:
        self.asked.set()
        await self._may.wait()
        return await self._engine.settle(*args, **more)


async def test_the_watchdog_is_told_which_jobs_stand_on_the_loop(shop: Shop) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    assert worker._on_the_loop() == [f"wait {job.id}"]
    shop.go.set()
    worker.drain()
    await running


# -- what the engine refuses for good ---------------------------------------------------------------
@pytest.mark.parametrize("burst", [False, True])
async def test_a_worker_ends_in_its_time_though_the_engine_refuses_an_end_for_good(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, burst: bool
) -> None:
    monkeypatch.setattr(workers, "LAST_WORDS", 0.05)
    bad, good = [await shop.app.tasks["tell"].aenqueue() for _ in range(2)]
    engine = Picky(shop.app.engine)
    engine.bad = frozenset({bad.id})
    worker = make_worker(shop.app, engine, grace=0.05)
    await shop.app.engine.register(worker.info(), 60.0)
    running = asyncio.create_task(worker.run(burst=burst))
    await asyncio.wait_for(engine.refused.wait(), 20)
    await good.aresult(20)
    worker.drain()
    await asyncio.wait_for(running, 20)
    await asyncio.wait_for(worker.outlast(), 20)
    assert (await shop.job(good.id)).state is State.COMPLETED
    assert (await shop.job(bad.id)).state is State.ACTIVE
    await worker.account.rescue(
        lambda judge: shop.app.engine.rescue_worker(worker.id, worker.board.begun(), judge)
    )
    assert (await shop.job(bad.id)).state is State.WAITING, "its job is not lost"


async def test_a_burst_that_is_told_to_drain_waits_no_longer_than_the_grace_period(shop: Shop) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop, grace=0.01)
    running = asyncio.create_task(worker.run(burst=True))
    await set_(shop.began)
    worker.drain()
    await asyncio.wait_for(running, 20)
    assert (await shop.job(job.id)).state is State.WAITING
