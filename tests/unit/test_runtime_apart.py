"""An end that the engine refuses for good holds up no other job, and is not lost."""

from __future__ import annotations

import asyncio
import logging

import pytest
from pump_kit import pump_app, state, until_ended  # noqa: F401 - fixtures
from runtime_kit import Picky, make_worker, no_waiting  # noqa: F401 - fixtures

from penstock import EngineError, EngineUnavailable, OutcomeUnknown, Penstock, State
from penstock.engine import Settlement, Want
from penstock.model.outcome import COMPLETED
from penstock.runtime.apart import Apart
from penstock.runtime.exchange import Exchange
from penstock.runtime.worker import Worker


async def begin(app: Penstock, **wishes: object) -> tuple[Worker, Picky]:
    engine = Picky(app.engine)
    worker = make_worker(app, engine, **wishes)
    await app.engine.register(worker.info(), 60.0)
    return worker, engine


async def with_ends(app: Penstock, jobs: int, bad: int, **wishes: object) -> tuple[Worker, Picky, list[str]]:
    """So many jobs have ended and are to be settled; the engine refuses the last `bad` of them."""
    made = await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(jobs))
    worker, engine = await begin(app, **wishes)
    await worker._pump.round()
    await until_ended(worker)
    ids = [end.id for end in worker._pump._ends]
    assert sorted(ids) == sorted(job.id for job in made)
    engine.bad = frozenset(ids[jobs - bad :])
    return worker, engine, ids


async def rounds(worker: Worker, many: int) -> None:
    async with asyncio.timeout(10):
        for _ in range(many):
            await worker._pump.round()


async def test_an_end_that_the_engine_refuses_holds_up_no_other_of_its_batch(app: Penstock) -> None:
    worker, engine, ids = await with_ends(app, 5, bad=1)
    await rounds(worker, 6)
    assert [await state(app, each) for each in ids] == [State.COMPLETED] * 4 + [State.ACTIVE]
    assert worker.settled == 4
    assert not worker._pump.told
    engine.bad = frozenset()
    await rounds(worker, 1)
    assert await state(app, ids[-1]) is State.COMPLETED
    assert (worker.settled, worker._pump.refused, worker._pump.told) == (5, 0, True)


async def test_what_is_refused_is_tried_again_after_all_others(app: Penstock) -> None:
    worker, engine, ids = await with_ends(app, 3, bad=0)
    engine.bad = frozenset(ids[:1])
    await rounds(worker, 6)
    first, second, third = ids
    alone = [settled for settled in engine.settles() if len(settled) == 1]
    assert alone[:5] == [[first], [second], [third], [first], [first]]


async def test_it_is_told_with_its_job_and_what_to_do(
    app: Penstock, caplog: pytest.LogCaptureFixture
) -> None:
    worker, _, ids = await with_ends(app, 3, bad=1)
    with caplog.at_level(logging.ERROR, "penstock.worker"):
        await rounds(worker, 4)
    told = [record.getMessage() for record in caplog.records]
    assert told
    assert all(f"job {ids[-1]} (hello)" in line and "it cannot be written; mend" in line for line in told)


async def test_other_jobs_are_claimed_and_settled_beside_what_is_refused(app: Penstock) -> None:
    worker, engine, [bad] = await with_ends(app, 1, bad=1)
    for n in range(3):
        job = await app.tasks["hello"].aenqueue(n=n)
        worker._pump.wake()
        await rounds(worker, 3)
        await until_ended(worker)
        await rounds(worker, 2)
        assert await state(app, job.id) is State.COMPLETED
    assert await state(app, bad) is State.ACTIVE
    assert all(settled == [bad] for settled in engine.settles() if bad in settled)


async def test_what_is_refused_with_a_claim_is_settled_without_it(app: Penstock) -> None:
    worker, engine, ids = await with_ends(app, 2, bad=0)
    job = await app.tasks["hello"].aenqueue()
    worker._pump.wake()
    engine.before["settle"] = [EngineError("the claim is what it refuses")]
    await worker._pump.round()
    await rounds(worker, 1)
    calls = [(len(args[0]), args[1] is not None) for verb, args, _ in engine.calls if verb == "settle"]
    assert calls == [(2, True), (1, False), (1, False)]
    assert [await state(app, each) for each in ids] == [State.COMPLETED] * 2
    await until_ended(worker)
    await rounds(worker, 1)
    assert await state(app, job.id) is State.COMPLETED


async def test_an_end_that_is_refused_with_a_claim_takes_no_claims_with_it(app: Penstock) -> None:
    worker, engine, [bad] = await with_ends(app, 1, bad=1)
    jobs = await app.aenqueue_many(app.tasks["hello"].call(n=n) for n in range(3))
    worker._pump.wake()
    await rounds(worker, 2)
    assert [verb for verb in engine.verbs() if verb in ("release", "claim")] == ["claim", "claim"]
    await until_ended(worker)
    await rounds(worker, 2)
    assert [await state(app, job.id) for job in jobs] == [State.COMPLETED] * 3
    assert await state(app, bad) is State.ACTIVE


async def test_one_alone_that_finds_the_engine_away_stays_alone(app: Penstock) -> None:
    worker, engine, ids = await with_ends(app, 2, bad=1)
    await worker._pump.round()
    engine.before["settle"] = [EngineUnavailable("away")]
    engine.bad = frozenset()
    while not worker._pump.told:
        await rounds(worker, 1)
    together, *alone = [len(settled) for settled in engine.settles()]
    assert (together, set(alone)) == (2, {1})
    assert [await state(app, each) for each in ids] == [State.COMPLETED] * 2


async def test_what_was_in_doubt_is_still_recognised_when_it_is_settled_alone(app: Penstock) -> None:
    worker, engine, _ = await with_ends(app, 3, bad=0)
    engine.after["settle"] = [OutcomeUnknown("lost")]
    await worker._pump.round()
    engine.before["settle"] = [EngineError("not all of them")]
    while not worker._pump.told:
        await rounds(worker, 1)
    again = [more["again"] for verb, _, more in engine.calls if verb == "settle"]
    assert again == [False, True, True, True, True]
    assert (worker.settled, worker._pump.refused) == (3, 0)


async def test_what_is_refused_is_not_tried_without_a_pause(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runtime.backoff.random.uniform", lambda *_: 1_000.0)
    worker, engine, [bad] = await with_ends(app, 1, bad=1)
    worker._pump._looked_empty.set()
    await rounds(worker, 1)
    resting = asyncio.create_task(worker._pump.round())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not resting.done()
    assert engine.settles() == [[bad]]
    worker._pump._apart._go_on()
    await asyncio.wait_for(resting, 10)
    await rounds(worker, 1)
    assert engine.settles() == [[bad], [bad]]


async def test_who_was_only_refused_with_others_is_tried_before_those_refused_alone():
    apart = Apart(None, lambda: None)  # type: ignore[arg-type]
    apart._tell = lambda *_: None  # type: ignore[method-assign]
    bad, good = Settlement("bad", "t1", COMPLETED), Settlement("good", "t2", COMPLETED)
    refusal = EngineError("no")
    apart.refused(Exchange([bad], None, again=False, news=0, alone=True), refusal)
    assert apart.next(0) is None  # it rests
    apart.refused(Exchange([good], Want("w", "r", {}, 1, {}, 1), again=False, news=0), refusal)
    assert apart.next(0) == Exchange([good], None, again=True, news=0, alone=True)
    assert len(apart) == 1


async def test_a_lost_claim_that_the_engine_does_not_take_back_keeps_no_end_from_being_written(
    app: Penstock,
) -> None:
    worker, engine, ids = await with_ends(app, 3, bad=0)

    async def refuse(*_: object) -> int:
        raise EngineError("a broken record")

    engine.release = refuse  # type: ignore[method-assign, assignment]
    worker._pump._lost_requests.append("a-request")
    await rounds(worker, 4)
    assert [await state(app, each) for each in ids] == [State.COMPLETED] * 3
