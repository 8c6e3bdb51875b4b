"""What fits: how much the pump claims and settles at once, and what it gives back."""

from __future__ import annotations

import asyncio

import pytest
from pump_kit import begin, pump_app, state, until_ended  # noqa: F401 - fixtures
from runtime_kit import no_waiting  # noqa: F401 - fixtures

from penstock import Penstock, State
from penstock.engine import Orders
from penstock.runtime import exchange, pace


async def test_a_queue_with_its_own_limit_is_never_claimed_ahead(app: Penstock) -> None:
    for _ in range(3):
        await app.tasks["held"].aenqueue()
    worker, engine = await begin(app, slots=10)
    worker._pump._room.pace._rate = 1e6
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
    for rate, ahead in [(0.0, 0), (1_000.0, 10), (1e9, pace.MAX_PREFETCH)]:
        worker._pump._room.pace._rate = rate
        want = worker._pump._want()
        assert want is not None
        assert want.queues["default"] == 10 + ahead


async def test_once_a_round_of_quick_jobs_has_ended_more_are_claimed_than_there_are_slots(
    app: Penstock,
) -> None:
    for _ in range(20):
        await app.tasks["hello"].aenqueue()
    worker, engine = await begin(app, slots=2)
    for _ in range(4):
        await worker._pump.round()
        await until_ended(worker)
    wants = [call[1][1] for call in engine.calls if call[0] == "settle"]
    assert max(want.limit for want in wants if want is not None) > 2


async def test_nothing_is_claimed_while_too_much_is_unsettled(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.tasks["hello"].aenqueue()
    worker, _ = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    monkeypatch.setattr("penstock.runtime.pump.MAX_UNSETTLED", 0)
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
    monkeypatch.setattr(exchange, "MAX_SETTLE", 2)
    await worker._pump.round()
    monkeypatch.setattr(exchange, "MAX_SETTLE", 100)
    monkeypatch.setattr(exchange, "MAX_SETTLE_BYTES", 1)
    await worker._pump.round()
    assert [len(args[0]) for verb, args, _ in engine.calls if verb == "settle"] == [2, 1]


async def test_a_paused_queue_gives_back_what_was_not_started_and_is_not_claimed(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._room.pace._rate = 1e6
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
    worker._pump._room.pace._rate = 1e6
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


async def test_what_lies_ready_behind_long_jobs_is_handed_back_and_not_claimed_ahead_again(
    app: Penstock,
) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._room.pace._rate = 1e6
    await app.tasks["held"].aenqueue()
    await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    await worker._pump.round()
    ready = [claim.id for claim in worker.executor.ready]
    assert len(ready) == 3
    worker._pump.relieve()
    assert worker.executor.ready, "they have only just come"
    worker._pump.relieve()
    assert not worker.executor.ready
    assert worker._pump._want() is None
    await worker._pump.round()
    for job_id in ready:
        found = await app.engine.get(job_id)
        assert found is not None
        assert (found.state, found.attempt) == (State.WAITING, 0)
    await worker._drop_all()


async def test_what_lies_ready_stays_while_slots_come_free(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._room.pace._rate = 1e6
    await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    await worker._pump.round()
    while worker.executor.ready:
        before = len(worker.executor.ready)
        worker._pump.relieve()
        assert len(worker.executor.ready) == before
        while len(worker.executor.ready) == before:
            await asyncio.sleep(0)


async def test_a_drain_hands_back_what_was_not_started(app: Penstock) -> None:
    worker, _ = await begin(app, slots=1)
    worker._pump._room.pace._rate = 1e6
    await app.tasks["held"].aenqueue()
    await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    await worker._pump.round()
    ready = [claim.id for claim in worker.executor.ready]
    assert ready
    worker.drain()
    await worker._pump.round()
    assert {await state(app, job_id) for job_id in ready} == {State.WAITING}
    await worker._drop_all()
