"""A worker in this very process: handlers on the loop and in threads, stopped, timed out, drained."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator

import pytest
from runtime_kit import Flaky, make_app, make_worker

from penstock import (
    Context,
    EngineUnavailable,
    NoOp,
    RateLimited,
    Retry,
    Snooze,
    State,
    SyncContext,
    Unrecoverable,
)
from penstock.engine import Orders
from penstock.model.job import Job
from penstock.runtime import executor as executors
from penstock.runtime import worker as workers
from penstock.runtime.heart import Heart, beat
from penstock.runtime.links import PipeLine
from penstock.runtime.worker import Worker

SIGNALS: dict[str, Exception] = {
    "later": Snooze(60),
    "no": NoOp("gone"),
    "never": Unrecoverable("no"),
    "slow": RateLimited(5),
}


class Shop:
    """An app whose handlers wait for the test's word."""

    def __init__(self) -> None:
        self.app = app = make_app()
        self.began = threading.Event()
        self.go = threading.Event()
        self.seen: list[object] = []

        @app.task(retry=Retry.fixed(2, 0.0))
        async def wait(ctx: Context) -> str:
            self.began.set()
            while not self.go.is_set():
                await asyncio.sleep(0.001)
            return ctx.key

        @app.task
        def block(ctx: SyncContext) -> str:
            self.began.set()
            while not self.go.wait(0.001):
                if ctx.cancelled:
                    raise RuntimeError("told to stop")
            return "done"

        @app.task(timeout=0.01, retry="none")
        def overrun() -> None:
            self.began.set()
            self.go.wait(10)

        @app.task(timeout=0.01, retry="none")
        async def late() -> None:
            await asyncio.Event().wait()

        @app.task(timeout=0.01, retry="none")
        async def stubborn() -> None:
            while not self.go.is_set():
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    self.seen.append("cancelled")

        @app.task
        async def say(ctx: Context, what: str) -> str:
            await ctx.progress(50, what)
            self.seen.append((ctx.attempt, ctx.deadline is not None, ctx.lease_lost, ctx.job.task))
            raise SIGNALS[what]

        @app.task
        def tell(ctx: SyncContext) -> str:
            ctx.progress(30, "on the way")
            return "told"

        @app.task(execute="process", retry="none")
        def apart() -> None: ...

        @app.task
        async def huge() -> str:
            return "x" * 300_000

    async def job(self, job_id: str) -> Job:
        job = await self.app.engine.get(job_id)
        assert job is not None
        return job


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    made = Shop()
    async with made.app:
        yield made
        made.go.set()


async def begin(shop: Shop, **wishes: object) -> Worker:
    worker = make_worker(shop.app, **wishes)
    await shop.app.engine.register(worker.info(), 60.0)
    return worker


async def set_(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 20)


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


async def test_progress_of_a_thread_is_stored(shop: Shop) -> None:
    job = await shop.app.tasks["tell"].aenqueue()
    engine = Flaky(shop.app.engine)
    worker = make_worker(shop.app, engine)
    await engine.register(worker.info(), 60.0)
    await worker.run(burst=True)
    assert ("progress", '{"percent":30,"message":"on the way"}') in [
        (verb, args[-1]) for verb, args, _ in engine.calls if verb == "progress"
    ]
    assert await job.aresult(5) == "told"


async def test_progress_that_cannot_be_stored_does_not_fail_the_work(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    job = await shop.app.tasks["tell"].aenqueue()
    engine = Flaky(shop.app.engine)
    engine.before["progress"] = [EngineUnavailable("away")]
    worker = make_worker(shop.app, engine)
    await engine.register(worker.info(), 60.0)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker.run(burst=True)
    assert "not stored" in caplog.text
    assert await job.aresult(5) == "told"


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


async def test_the_watchdog_is_told_which_jobs_stand_on_the_loop(shop: Shop) -> None:
    job = await shop.app.tasks["wait"].aenqueue()
    worker = await begin(shop)
    running = asyncio.create_task(worker.run())
    await set_(shop.began)
    assert worker._on_the_loop() == [f"wait {job.id}"]
    shop.go.set()
    worker.drain()
    await running


# -- in process -------------------------------------------------------------------------------------
async def test_an_in_process_worker_runs_until_drained_and_counts(shop: Shop) -> None:
    worker = shop.app.worker(slots=2)
    running = asyncio.create_task(worker.run())
    job = await shop.app.tasks["tell"].aenqueue()
    assert await job.aresult(20) == "told"
    worker.drain()
    assert await asyncio.wait_for(running, 20) == 1
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


# -- heart ------------------------------------------------------------------------------------------
async def test_a_beat_that_finds_the_worker_gone_gives_it_up(shop: Shop) -> None:
    worker = await begin(shop)
    await shop.app.engine.retire(worker.id)
    orders = await beat(shop.app.engine, worker.id, worker.board)
    assert orders.given_up
    assert worker.board.given_up


async def test_a_beat_counts_from_before_it_was_asked(shop: Shop) -> None:
    worker = await begin(shop)
    worker.board.beaten(0.0)
    before = time.monotonic()
    await beat(shop.app.engine, worker.id, worker.board)
    assert worker.board.age() <= time.monotonic() - before


async def test_a_missed_heartbeat_is_logged_and_not_the_end(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await begin(shop)
    engine = Flaky(shop.app.engine)
    engine.before["beat"] = [EngineUnavailable("away")]
    heart = Heart(worker, None)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING, "penstock.heart"):
        await heart._beat_once(engine)  # type: ignore[arg-type]
    assert "missed" in caplog.text
    await heart._beat_once(engine)  # type: ignore[arg-type]
    assert worker.board.age() < 60


# -- lines ------------------------------------------------------------------------------------------
async def test_the_line_of_a_child_process_writes_progress_into_its_pipe(shop: Shop) -> None:
    sent: list[bytes] = []
    line = PipeLine(None, "worker", sent.append)  # type: ignore[arg-type]
    await line.progress(5, "a")
    line.progress_sync(6, "b")
    assert len(sent) == 2
    assert not line.cancelled()
    assert not line.lease_lost()


async def test_progress_of_a_job_that_passed_on_is_refused_and_logged(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await begin(shop)
    job = await shop.app.tasks["tell"].aenqueue()
    await worker._pump.round()
    (running,) = worker.executor.running.values()
    claim = running.claim._replace(token="0" * 32)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        lines = worker.executor._lines
        lines.send_later(claim, "{}")
        await asyncio.gather(*lines._sending)
    assert f"progress of job {job.id} refused" in caplog.text
    while worker.executor.running:
        await asyncio.sleep(0.001)
    worker.executor._threads.close()
