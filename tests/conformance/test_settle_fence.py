"""settle: one door out of active, once, and only for the holder of the token."""

import pytest

from conformance.kit import (
    EVERY_OUTCOME,
    claim,
    counts,
    end,
    failed,
    gone,
    name_of,
    new,
    news,
    put,
    read,
    register,
    retried,
    settle,
    snoozed,
    state,
    take,
)
from penstock.engine import Settled, Settlement
from penstock.model.outcome import COMPLETED, Cancelled, Completed, Released
from penstock.model.states import State


@pytest.mark.parametrize("first", EVERY_OUTCOME, ids=name_of)
@pytest.mark.parametrize("second", [COMPLETED, retried(60), failed(), Released()], ids=name_of)
async def test_a_token_settles_once(engine, worker, first, second):
    held = await take(engine)
    assert await settle(engine, held, first)
    before = await read(engine, held.id)
    assert not await settle(engine, held, second)
    assert await read(engine, held.id) == before
    assert await engine.dead_count() == (1 if first.verb == "fail" else 0)


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_a_worker_that_lost_its_lease_cannot_settle(engine, worker, clock, outcome):
    zombie = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert not await settle(engine, zombie, outcome)
    assert await state(engine, zombie.id) is State.WAITING
    await register(engine, "w2")
    [held] = await claim(engine, worker="w2")
    assert not await settle(engine, zombie, outcome)
    job = await read(engine, held.id)
    assert (job.state, job.worker, job.attempt) == (State.ACTIVE, "w2", 1)
    assert await settle(engine, held)


async def test_a_token_of_an_earlier_claim_by_the_same_worker_is_refused(engine, worker):
    old = await take(engine)
    await settle(engine, old, Released())
    [held] = await claim(engine)
    assert (old.attempt, old.id) == (held.attempt, held.id)
    assert not await settle(engine, old)
    assert await settle(engine, held)


@pytest.mark.parametrize(
    "token", ["", "no-such-token", "00000000-0000-4000-8000-000000000000", "' OR 1=1 --"]
)
async def test_a_made_up_token_is_refused(engine, worker, token):
    held = await take(engine)
    assert (await engine.settle([Settlement(held.id, token, COMPLETED)])).accepted == [False]
    assert await state(engine, held.id) is State.ACTIVE


async def test_a_job_that_does_not_exist_is_refused(engine, worker):
    held = await take(engine)
    stray = Settlement(new().id, held.token, COMPLETED)
    assert (await engine.settle([stray])).accepted == [False]


async def test_a_waiting_job_cannot_be_settled(engine, worker):
    waiting = await put(engine)
    assert (await engine.settle([Settlement(waiting, "", COMPLETED)])).accepted == [False]
    assert await state(engine, waiting) is State.WAITING


async def test_each_settlement_is_answered_in_its_place(engine, worker):
    await engine.enqueue(news(6))
    held = await claim(engine)
    stale = held[1]._replace(token=held[0].token)
    ends = [
        end(held[0]),
        end(stale),
        end(held[2], failed()),
        end(held[3], retried(60)),
        end(held[4], snoozed()),
        Settlement(new().id, "x", COMPLETED),
        end(held[5], keep=False),
    ]
    assert (await engine.settle(ends)).accepted == [True, False, True, True, True, False, True]
    expected = [State.COMPLETED, State.ACTIVE, State.FAILED, State.DELAYED, State.WAITING, None]
    assert [await state(engine, h.id) for h in held] == expected
    assert await counts(engine) == {s: 1 for s in expected if s}


async def test_one_job_ends_once_even_within_one_call(engine, worker):
    held = await take(engine)
    settled = await engine.settle([end(held, Completed("1")), end(held, failed())])
    assert settled.accepted == [True, False]
    assert (await read(engine, held.id)).result == 1
    assert await engine.dead_count() == 0


async def test_nothing_to_settle_is_nothing_done(engine):
    assert await engine.settle([]) == Settled([], [], False)


async def test_five_hundred_runs_end_at_once(engine, worker):
    await engine.enqueue(news(500))
    held = await claim(engine)
    ends = [end(h, COMPLETED if n % 2 else failed()) for n, h in enumerate(held)]
    assert (await engine.settle(ends)).accepted == [True] * 500
    assert await counts(engine) == {State.COMPLETED: 250, State.FAILED: 250}
    assert await engine.dead_count() == 250


async def test_settling_does_not_need_a_living_worker(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    assert await settle(engine, held)
    assert await state(engine, held.id) is State.COMPLETED


async def test_a_batch_with_one_bad_settlement_ends_none(engine, worker):
    await engine.enqueue(news(3))
    held = await claim(engine)
    bad = [end(held[0]), end(held[1], failed()), end(held[2], Completed(object()))]
    with pytest.raises(Exception):  # noqa: B017, PT011 - each engine's driver has its own word for it
        await engine.settle(bad)
    assert await counts(engine) == {State.ACTIVE: 3}
    assert await engine.dead_count() == 0


# -- again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_settling_again_after_a_lost_reply_is_accepted_and_not_written_twice(engine, worker, outcome):
    held = await take(engine)
    await settle(engine, held, outcome, ran_for=1.0)
    before = await read(engine, held.id)
    assert await settle(engine, held, outcome, ran_for=1.0, again=True)
    assert await read(engine, held.id) == before
    assert await engine.dead_count() == (1 if outcome.verb == "fail" else 0)


async def test_settling_again_when_the_first_call_did_not_happen_settles(engine, worker):
    held = await take(engine)
    assert await settle(engine, held, again=True)
    assert await state(engine, held.id) is State.COMPLETED


async def test_settling_again_a_job_that_was_not_kept_is_accepted(engine, worker):
    held = await take(engine)
    await settle(engine, held, keep=False)
    assert await settle(engine, held, keep=False, again=True)
    assert await engine.get(held.id) is None


async def test_settling_again_a_job_whose_record_was_deleted_is_refused_unless_it_left_none(engine, worker):
    held = await take(engine)
    assert await settle(engine, held, Cancelled("no"), keep=False)
    assert await engine.delete([held.id]) == 1
    assert not await settle(engine, held, retried(), keep=False, again=True)
    assert not await settle(engine, held, Cancelled("no"), keep=False, again=True)


async def test_settling_again_with_a_token_that_was_taken_away_is_refused(engine, worker, clock):
    zombie = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert not await settle(engine, zombie, again=True)
    await register(engine, "w2")
    [held] = await claim(engine, worker="w2")
    assert not await settle(engine, zombie, again=True)
    await settle(engine, held)
    assert not await settle(engine, zombie, again=True)


async def test_settling_again_a_batch_answers_each_for_itself(engine, worker):
    await engine.enqueue(news(3))
    held = await claim(engine)
    await engine.settle([end(held[0])])
    ends = [end(held[0]), end(held[1]), end(held[2]._replace(token=held[1].token))]
    assert (await engine.settle(ends, again=True)).accepted == [True, True, False]
