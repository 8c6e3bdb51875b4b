"""A worker in this very process: how runs end, and how they are stopped."""

from __future__ import annotations

import asyncio
import logging
import os

import pytest
from shop_kit import Shop, begin, open_shop, set_  # noqa: F401 - fixtures

from penstock import State
from penstock.engine import Order, Orders
from penstock.runtime import executor as executors
from penstock.runtime import worker as workers


# -- ends -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("what", "state"),
    [
        ("later", State.DELAYED),
        ("no", State.COMPLETED),
        ("never", State.FAILED),
        ("slow", State.DELAYED),
    ],
)
async def test_a_signal_says_how_the_run_ended(shop: Shop, what: str, state: State) -> None:
    job = await shop.app.tasks["say"].aenqueue(what=what)
    worker = await begin(shop)
    await worker.run(burst=True)
    found = await shop.job(job.id)
    assert found.state is state
    assert found.attempt == (0 if what == "later" else 1)
    assert shop.seen == [(1, True, False, "say")]


async def test_a_result_that_is_too_large_completes_without_it(shop: Shop) -> None:
    job = await shop.app.tasks["huge"].aenqueue()
    await (await begin(shop)).run(burst=True)
    found = await shop.job(job.id)
    assert found.state is State.COMPLETED
    assert "result dropped" in (found.note or "")


async def test_a_task_nobody_knows_and_a_payload_that_does_not_fit_are_parked(shop: Shop) -> None:
    from penstock.model.job import NewJob
    from penstock.tasks.ids import new_id

    unknown, misfit = NewJob(new_id(), "default", "nobody"), NewJob(new_id(), "default", "say", '{"n": 1}')
    await shop.app.engine.enqueue([unknown, misfit])
    await (await begin(shop)).run(burst=True)
    notes = [(await shop.job(job.id)) for job in (unknown, misfit)]
    assert all(job.parked and job.attempt == 0 for job in notes)
    assert "no worker here knows task 'nobody'" in (notes[0].note or "")
    assert "no longer fit task 'say'" in (notes[1].note or "")
    assert len(await shop.app.ops.parked()) == 2


async def test_a_payload_that_is_not_json_is_a_dead_letter(shop: Shop) -> None:
    from penstock.model.job import Claim

    worker = await begin(shop)
    ends: list[object] = []
    worker.executor._on_end = lambda _, end: ends.append(end)
    from datetime import UTC, datetime

    at = datetime.now(UTC)
    claim = Claim("id", "t", "default", "say", "default", "{", "id", 1, 3, 3, None, None, False, 0, at, at)
    worker.executor.offer([claim])
    assert [(end.type, end.retry) for end in ends] == [("InvalidValue", False)]  # type: ignore[attr-defined]


async def test_a_job_for_a_process_of_its_own_fails_its_attempt_where_the_app_has_no_address(
    shop: Shop,
) -> None:
    job = await shop.app.tasks["apart"].aenqueue()
    await (await begin(shop)).run(burst=True)
    found = await shop.job(job.id)
    assert found.state is State.FAILED
    assert "penstock worker --app" in found.errors[-1]["message"]


async def test_working_until_nothing_is_left_ends_when_every_queue_is_paused(shop: Shop) -> None:
    job, other = [await shop.app.tasks["wait"].aenqueue() for _ in range(2)]
    worker = await begin(shop, slots=1)
    running = asyncio.create_task(worker.run(burst=True))
    await set_(shop.began)
    await shop.app.ops.pause("default")
    worker.obey(await shop.app.engine.beat(worker.id, 60.0))
    shop.go.set()
    await asyncio.wait_for(running, 20)
    assert (await shop.job(job.id)).state is State.COMPLETED
    assert (await shop.job(other.id)).state is State.WAITING


async def test_a_quiet_worker_ends_what_it_runs_and_claims_nothing_until_it_may_again(shop: Shop) -> None:
    job, other = [await shop.app.tasks["wait"].aenqueue() for _ in range(2)]
    worker = await begin(shop, slots=1)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    await shop.app.ops.workforce.order(worker.id, Order.QUIET)
    worker.obey(await shop.app.engine.beat(worker.id, 60.0))
    shop.go.set()
    while (await shop.job(job.id)).state is not State.COMPLETED:
        await worker._pump.exchanged()
    await worker._pump.round()
    assert (await shop.job(other.id)).state is State.WAITING
    assert (await shop.app.ops.why(other.id)).causes[0].next == f"workers resume {worker.id}"
    await shop.app.ops.workforce.order(worker.id, None)
    worker.obey(await shop.app.engine.beat(worker.id, 60.0))
    assert await shop.app.tasks["tell"].aenqueue()
    while (await shop.job(other.id)).state is not State.COMPLETED:
        await worker._pump.exchanged()
    worker.drain()
    await asyncio.wait_for(running, 20)


async def test_a_pause_ends_an_idle_wait_for_work(shop: Shop) -> None:
    worker = await begin(shop)
    waiting = asyncio.create_task(worker._until_idle(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    worker.obey(Orders(paused=frozenset({"default"})))
    await asyncio.wait_for(waiting, 20)


@pytest.mark.parametrize("task", ["fork", "fork_async"])
async def test_a_copy_that_a_handler_makes_of_the_worker_and_lets_go_on_ends_by_itself(
    shop: Shop, task: str
) -> None:
    job = await shop.app.tasks[task].aenqueue()
    await (await begin(shop)).run(burst=True)
    copy = await job.aresult(5)
    assert copy > 0, "the job's end was told by the job"
    assert await asyncio.to_thread(os.waitpid, copy, 0) == (copy, 0)


# -- stop -------------------------------------------------------------------------------------------
async def test_a_timeout_cancels_a_coroutine(shop: Shop) -> None:
    job = await shop.app.tasks["late"].aenqueue()
    await (await begin(shop)).run(burst=True)
    found = await shop.job(job.id)
    assert (found.state, found.errors[-1]["type"]) == (State.FAILED, "JobTimeout")


async def test_a_thread_that_passes_its_timeout_is_settled_and_its_slot_replaced(shop: Shop) -> None:
    job = await shop.app.tasks["overrun"].aenqueue()
    worker = await begin(shop, slots=1)
    await worker.run(burst=True)
    assert (await shop.job(job.id)).state is State.FAILED
    assert worker.executor.stuck == 1
    shop.go.set()
    while worker.executor.stuck:
        await asyncio.sleep(0.001)
    assert (await shop.job(job.id)).state is State.FAILED


async def test_a_coroutine_that_swallows_its_cancellation_loses_its_slot(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(executors, "PATIENCE", 0.0)
    job = await shop.app.tasks["stubborn"].aenqueue()
    worker = await begin(shop, slots=1)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker.run(burst=True)
    assert (await shop.job(job.id)).errors[-1]["type"] == "JobTimeout"
    assert "does not stop" in caplog.text
    assert shop.seen[0] == "cancelled"


async def test_too_many_runs_that_do_not_stop_recycle_the_process(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MAX_STUCK", 1)
    await shop.app.tasks["overrun"].aenqueue()
    worker = await begin(shop)
    await asyncio.wait_for(worker.run(), 20)
    assert worker.recycle


async def test_a_cancelled_thread_that_looks_ends_as_cancelled(shop: Shop) -> None:
    job = await shop.app.tasks["block"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    await shop.app.ops.cancel(job.id)
    worker.obey(await shop.app.engine.beat(worker.id, 60.0))
    while not (await shop.job(job.id)).state.finished:
        await asyncio.sleep(0.001)
    assert (await shop.job(job.id)).state is State.CANCELLED
    worker.drain()
    await running


async def test_a_thread_that_ignores_its_cancellation_loses_its_slot_when_its_time_is_over(
    shop: Shop,
) -> None:
    job = await shop.app.tasks["hung"].aenqueue()
    worker = await begin(shop, slots=1)
    working = asyncio.create_task(worker.run())
    await set_(shop.began)
    await shop.app.ops.cancel(job.id)
    worker.obey(await shop.app.engine.beat(worker.id, 60.0))
    (running,) = worker.executor.running.values()
    worker.executor.tick()
    assert worker.executor.running, "until then it may still look"
    running.deadline = running.started
    worker.drain()
    await asyncio.wait_for(working, 20)
    assert (await shop.job(job.id)).state is State.CANCELLED
    assert worker.executor.stuck == 1
