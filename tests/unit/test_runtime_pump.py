"""The pump: one conversation with the engine, which may fail at every word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from runtime_kit import Flaky, expire, make_app, make_worker

from penstock import Context, EngineError, EngineUnavailable, OutcomeUnknown, Penstock, State
from penstock.engine import Orders
from penstock.model.errors import WorkerExpired
from penstock.runtime import pump as pumps
from penstock.runtime.worker import Worker

AWAY = EngineUnavailable("away")
LOST = OutcomeUnknown("lost")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 0.0)


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("narrow", concurrency=1)

    @made.task
    async def hello(ctx: Context, n: int = 0) -> int:
        return n

    @made.task(queue="narrow")
    async def held() -> None:
        await asyncio.Event().wait()

    async with made:
        yield made


async def begin(app: Penstock, **wishes: object) -> tuple[Worker, Flaky]:
    engine = Flaky(app.engine)
    worker = make_worker(app, engine, **wishes)
    await app.engine.register(worker.info(), 60.0)
    return worker, engine


async def until_ended(worker: Worker) -> None:
    while worker.executor.running:
        await asyncio.sleep(0)


async def state(app: Penstock, job_id: str) -> State:
    job = await app.engine.get(job_id)
    assert job is not None
    return job.state


async def test_one_round_claims_and_the_next_settles(app: Penstock) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, engine = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    assert await state(app, job.id) is State.ACTIVE
    await worker._pump.round()
    assert await state(app, job.id) is State.COMPLETED
    assert (worker.settled, worker._pump.idle) == (1, True)
    assert engine.verbs() == ["claim", "settle"]


async def test_what_ended_is_kept_while_the_engine_is_away(app: Penstock) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, engine = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    engine.before["settle"] = [AWAY, AWAY]
    for _ in range(3):
        await worker._pump.round()
    assert await state(app, job.id) is State.COMPLETED
    settles = [more["again"] for verb, _, more in engine.calls if verb == "settle"]
    assert settles == [False, False, False]
    assert worker.settled == 1


async def test_a_settle_whose_answer_was_lost_is_sent_again_and_recognised(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, engine = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    engine.after["settle"] = [LOST]
    await worker._pump.round()
    await worker._pump.round()
    settles = [(args[0], more["again"]) for verb, args, more in engine.calls if verb == "settle"]
    assert [again for _, again in settles] == [False, True]
    assert settles[0][0] == settles[1][0]
    assert await state(app, job.id) is State.COMPLETED
    assert worker._pump.refused == 0
    await app.tasks["hello"].aenqueue(n=2)
    worker._pump.wake()
    await worker._pump.round()
    await until_ended(worker)
    await worker._pump.round()
    assert engine.calls[-1][2] == {"again": False}


async def test_a_claim_whose_answer_was_lost_is_released_before_the_next(app: Penstock) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, engine = await begin(app)
    engine.after["claim"] = [LOST]
    await worker._pump.round()
    assert await state(app, job.id) is State.ACTIVE
    await worker._pump.round()
    assert engine.verbs() == ["claim", "release", "claim"]
    request = engine.calls[0][1][0].request
    assert engine.calls[1][1] == (worker.id, request)
    assert engine.calls[2][1][0].request != request
    await until_ended(worker)
    await worker._pump.round()
    found = await app.engine.get(job.id)
    assert found is not None
    assert (found.state, found.attempt) == (State.COMPLETED, 1)


async def test_a_release_that_fails_is_tried_again_before_anything_is_claimed(app: Penstock) -> None:
    worker, engine = await begin(app)
    await app.tasks["hello"].aenqueue(n=1)
    engine.after["claim"] = [LOST]
    engine.before["release"] = [AWAY]
    for _ in range(3):
        await worker._pump.round()
    assert engine.verbs() == ["claim", "release", "release", "claim"]


async def test_a_claim_that_did_not_happen_is_not_released(app: Penstock) -> None:
    worker, engine = await begin(app)
    engine.before["claim"] = [AWAY]
    await worker._pump.round()
    await worker._pump.round()
    assert engine.verbs() == ["claim", "claim"]


async def test_any_other_error_of_the_engine_is_logged_and_survived(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    worker, engine = await begin(app)
    engine.before["claim"] = [EngineError("disk is odd")]
    with caplog.at_level(logging.ERROR, "penstock.worker"):
        await worker._pump.round()
    assert "disk is odd" in caplog.text
    assert not worker.expired


async def test_a_worker_that_was_given_up_stops_at_its_next_claim(app: Penstock) -> None:
    worker, engine = await begin(app)
    engine.before["claim"] = [WorkerExpired("given up")]
    await worker._pump.round()
    assert worker.expired


async def test_a_settle_that_finds_the_worker_expired_stops_it_and_is_still_written(app: Penstock) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, _ = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    expire(app)
    await worker._pump.round()
    assert worker.expired
    assert await state(app, job.id) is State.COMPLETED


async def test_a_refused_settlement_is_counted_and_logged(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, _ = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    from penstock.model.decide import judge

    await app.engine.rescue_worker(worker.id, frozenset(), judge)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker._pump.round()
    assert worker._pump.refused == 1
    assert job.id in caplog.text
    assert await state(app, job.id) is State.WAITING


async def test_an_empty_look_is_not_repeated_until_somebody_wakes_the_pump(app: Penstock) -> None:
    worker, engine = await begin(app)
    await worker._pump.round()
    assert worker._pump.looked_empty
    resting = asyncio.create_task(worker._pump.round())
    await asyncio.sleep(0)
    assert not resting.done()
    worker._pump.wake()
    await resting
    await worker._pump.round()
    assert engine.verbs() == ["claim", "claim"]


async def test_listening_survives_an_engine_that_is_away(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, engine = await begin(app)
    woken = asyncio.Event()
    monkeypatch.setattr(worker._pump, "wake", woken.set)
    engine.before["wait"] = [AWAY]
    listening = asyncio.create_task(worker._pump.listen())
    await worker._pump.round()
    await asyncio.wait_for(woken.wait(), 10)
    listening.cancel()


async def test_a_queue_with_its_own_limit_is_never_claimed_ahead(app: Penstock) -> None:
    for _ in range(3):
        await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=10)
    worker._pump._rate = 1e6
    await worker._pump.round()
    assert len(worker.executor.running) == 1
    worker._pump.wake()
    await worker._pump.round()
    assert len(worker.executor.running) + len(worker.executor.ready) == 1
    assert "narrow" not in engine.calls[-1][1][0].queues
    worker.drain(now=True)
    await worker.executor.close()
    await worker._drop_all()


async def test_prefetch_is_bounded_by_ten_milliseconds_of_work(app: Penstock) -> None:
    worker, _ = await begin(app, slots=10)
    for rate, ahead in [(0.0, 0), (1_000.0, 10), (1e9, pumps.MAX_PREFETCH)]:
        worker._pump._rate = rate
        want = worker._pump._want()
        assert want is not None
        assert want.queues["default"] == 10 + ahead


async def test_nothing_is_claimed_while_too_much_is_unsettled(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.tasks["hello"].aenqueue()
    worker, _ = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    monkeypatch.setattr(pumps, "MAX_UNSETTLED", 0)
    assert worker._pump._want() is None


async def test_nothing_is_claimed_when_the_lease_runs_out(app: Penstock) -> None:
    worker, _ = await begin(app)
    worker.board.beaten(0.0)
    assert worker._pump._want() is None


async def test_one_settle_is_bounded_by_count_and_by_bytes(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(5))
    worker, engine = await begin(app, slots=5)
    await worker._pump.round()
    await until_ended(worker)
    monkeypatch.setattr(pumps, "MAX_SETTLE", 2)
    await worker._pump.round()
    monkeypatch.setattr(pumps, "MAX_SETTLE", 100)
    monkeypatch.setattr(pumps, "MAX_SETTLE_BYTES", 1)
    await worker._pump.round()
    assert [len(args[0]) for verb, args, _ in engine.calls if verb == "settle"] == [2, 1]


async def test_a_paused_queue_gives_back_what_was_not_started_and_is_not_claimed(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._rate = 1e6
    ids = [job.id for job in await app.aenqueue_many(app.tasks["held"].call() for _ in range(1))]
    jobs = await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    await worker._pump.round()
    assert worker.executor.ready
    waiting = {claim.id for claim in worker.executor.ready}
    worker.obey(Orders(paused=frozenset({"default", "narrow"})))
    assert not worker.executor.ready
    await worker._pump.round()
    for job_id in waiting:
        found = await app.engine.get(job_id)
        assert found is not None
        assert (found.state, found.attempt) == (State.WAITING, 0)
    assert worker._pump._want() is None
    worker.obey(Orders())
    assert waiting <= {*ids, *(job.id for job in jobs)}
    await worker._drop_all()


async def test_an_order_to_cancel_reaches_a_running_job_and_one_that_only_waits_here(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._rate = 1e6
    await app.tasks["held"].aenqueue()
    queued = await app.tasks["hello"].aenqueue()
    await worker._pump.round()
    jobs = [*worker.executor.ready, *(r.claim for r in worker.executor.running.values())]
    await app.engine.cancel([claim.id for claim in jobs], "no more")
    worker.obey(await app.engine.beat(worker.id, 60.0))
    await until_ended(worker)
    await worker._pump.round()
    for claim in jobs:
        assert await state(app, claim.id) is State.CANCELLED
    assert await state(app, queued.id) in (State.CANCELLED, State.WAITING)


async def test_a_drain_hands_back_what_was_not_started(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._rate = 1e6
    await app.tasks["held"].aenqueue()
    await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    await worker._pump.round()
    ready = [claim.id for claim in worker.executor.ready]
    assert ready
    worker.drain()
    await worker._pump.round()
    assert {await state(app, job_id) for job_id in ready} == {State.WAITING}
    await worker._drop_all()
