"""The pump: one conversation with the engine, which may fail at every word."""

from __future__ import annotations

import asyncio
import logging

import pytest
from pump_kit import begin, pump_app, ran_one, state, until_ended  # noqa: F401 - fixtures
from runtime_kit import expire, no_waiting  # noqa: F401 - fixtures

from penstock import EngineError, EngineUnavailable, OutcomeUnknown, Penstock, State
from penstock.engine import Claimed, Orders, Want
from penstock.model.errors import WorkerExpired

AWAY = EngineUnavailable("away")
LOST = OutcomeUnknown("lost")


async def test_one_round_claims_and_the_next_settles(app: Penstock) -> None:
    job_id, worker, engine = await ran_one(app)
    assert await state(app, job_id) is State.ACTIVE
    await worker._pump.round()
    assert await state(app, job_id) is State.COMPLETED
    assert (worker.settled, worker._pump.idle) == (1, True)
    assert engine.verbs() == ["claim", "settle"]


async def test_what_ended_is_kept_while_the_engine_is_away(app: Penstock) -> None:
    job_id, worker, engine = await ran_one(app)
    engine.before["settle"] = [AWAY, AWAY]
    for _ in range(3):
        await worker._pump.round()
    assert await state(app, job_id) is State.COMPLETED
    settles = [more["again"] for verb, _, more in engine.calls if verb == "settle"]
    assert settles == [False, False, False]
    assert worker.settled == 1


async def test_a_settle_whose_answer_was_lost_is_sent_again_and_recognised(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    job_id, worker, engine = await ran_one(app)
    engine.after["settle"] = [LOST]
    await worker._pump.round()
    await worker._pump.round()
    settles = [(args[0], more["again"]) for verb, args, more in engine.calls if verb == "settle"]
    assert [again for _, again in settles] == [False, True]
    assert settles[0][0] == settles[1][0]
    assert await state(app, job_id) is State.COMPLETED
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
    job_id, worker, _ = await ran_one(app)
    expire(app)
    await worker._pump.round()
    assert worker.expired
    assert await state(app, job_id) is State.COMPLETED


async def test_a_refused_settlement_is_counted_and_logged(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    job_id, worker, _ = await ran_one(app)
    from penstock.model.decide import judge

    await app.engine.rescue_worker(worker.id, frozenset(), judge)
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        await worker._pump.round()
    assert worker._pump.refused == 1
    assert job_id in caplog.text
    assert await state(app, job_id) is State.WAITING


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


async def test_an_empty_look_that_was_overtaken_by_news_is_repeated(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, engine = await begin(app)
    claim = app.engine.claim

    async def overtaken(want: Want) -> Claimed:
        claimed = await claim(want)
        if not claimed.claims:
            await app.tasks["hello"].aenqueue(n=1)
            worker._pump.wake()  # a follower is in, or a place is free: the answer was given before
        return claimed

    monkeypatch.setattr(app.engine, "claim", overtaken)
    await worker._pump.round()
    assert not worker._pump.looked_empty
    await asyncio.wait_for(worker._pump.round(), 1)
    assert engine.verbs() == ["claim", "claim"]
    await until_ended(worker)
    await worker._pump.round()
    assert worker.settled == 1


async def test_a_worker_looks_into_a_queue_as_soon_as_it_knows_that_it_is_paused_no_more(
    app: Penstock,
) -> None:
    worker, _ = await begin(app)
    worker.obey(Orders(paused=frozenset({"default"})))
    job = await app.tasks["hello"].aenqueue()
    await worker._pump.round()
    assert worker._pump.looked_empty, (
        "the call of the resumed queue came before the heartbeat that tells of it"
    )
    worker.obey(Orders())
    await asyncio.wait_for(worker._pump.round(), 1)
    await until_ended(worker)
    await worker._pump.round()
    assert await state(app, job.id) is State.COMPLETED
