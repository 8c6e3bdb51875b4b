"""settle: one door out of active, and only for the holder of the token."""

import json
from datetime import datetime, timedelta

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    claim,
    counts,
    end,
    error,
    failed,
    finish,
    gone,
    ids,
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
    want,
)
from penstock.engine import Settled, Settlement
from penstock.model.outcome import COMPLETED, Cancelled, Completed, Failed, Released
from penstock.model.priority import Priority
from penstock.model.states import State

EVERY_OUTCOME = [
    COMPLETED,
    retried(),
    retried(60),
    snoozed(),
    snoozed(60),
    Released(),
    Cancelled("no"),
    failed(),
]


def name_of(outcome) -> str:
    return f"{outcome.verb}-{outcome.state}"


# -- what each outcome means ------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_every_outcome_leads_to_its_state(engine, worker, outcome):
    held = await take(engine)
    assert await engine.settle([end(held, outcome)]) == Settled([True], [], False)
    job = await read(engine, held.id)
    assert job.state is outcome.state
    assert await counts(engine) == {outcome.state: 1}


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_attempts_are_refunded_exactly_where_the_outcome_says(engine, worker, outcome):
    held = await take(engine)
    await settle(engine, held, outcome)
    assert (await read(engine, held.id)).attempt == (0 if outcome.refund else 1)


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_finished_at_is_set_exactly_for_finished_jobs(engine, worker, clock, outcome):
    held = await take(engine)
    clock.advance(3)
    await settle(engine, held, outcome)
    expected = clock.now() if outcome.state.finished else None
    assert (await read(engine, held.id)).finished_at == expected


async def test_a_completed_job_keeps_its_result_and_note(engine, worker):
    held = await take(engine, args='{"a":1}', key="k")
    await settle(engine, held, Completed('{"sum":7}', "no-op: gone"), ran_for=1.5)
    job = await read(engine, held.id)
    assert (job.result, job.note, job.ran_for) == ({"sum": 7}, "no-op: gone", 1.5)
    assert (job.args, job.key, job.attempt, job.errors) == ({"a": 1}, "k", 1, [])


async def test_no_result_and_a_null_result_are_told_apart(engine, worker):
    without, null = await finish(engine), await finish(engine, outcome=Completed("null"))
    assert (await read(engine, without.id)).result_json is None
    assert (await read(engine, null.id)).result_json == "null"


async def test_a_retried_job_is_due_after_its_delay(engine, clock):
    await register(engine, ttl=1_000)
    held = await take(engine)
    clock.advance(5)
    await settle(engine, held, retried(60))
    assert (await read(engine, held.id)).due_at == clock.now() + timedelta(seconds=60)
    clock.advance(59)
    await engine.stage(10)
    assert await claim(engine) == []
    clock.advance(1)
    await engine.stage(10)
    assert ids(await claim(engine)) == [held.id]


@pytest.mark.parametrize("outcome", [retried(), snoozed()], ids=name_of)
async def test_what_runs_again_at_once_goes_to_the_end_of_the_line(engine, worker, clock, outcome):
    held = await take(engine)
    clock.advance(1)
    other = await put(engine)
    clock.advance(1)
    await settle(engine, held, outcome)
    assert (await read(engine, held.id)).due_at == clock.now()
    assert ids(await claim(engine)) == [other, held.id]


async def test_a_released_job_keeps_its_place_in_line(engine, clock):
    await register(engine, ttl=1_000)
    held = await take(engine)
    due = held.due_at
    clock.advance(60)
    other = await put(engine)
    await settle(engine, held, Released())
    assert (await read(engine, held.id)).due_at == due
    assert ids(await claim(engine)) == [held.id, other]


async def test_a_released_job_keeps_the_place_it_had_after_a_retry(engine, worker, clock):
    held = await take(engine)
    await settle(engine, held, retried(10))
    clock.advance(5)
    early = await put(engine)
    clock.advance(5)
    await engine.stage(10)
    late = await put(engine)
    [_, held, _] = await claim(engine)
    await settle(engine, held, Released())
    assert ids(await claim(engine)) == [held.id]
    assert early < late


async def test_errors_are_appended_with_the_time_of_the_engine(engine, worker, clock):
    held = await take(engine, max_attempts=3)
    times = []
    for message in ("first", "second", "tr\u00e4g\u202e"):
        clock.advance(1)
        times.append(clock.now())
        await settle(engine, held, retried(message=message))
        [held] = await claim(engine)
    errors = (await read(engine, held.id)).errors
    assert [e["message"] for e in errors] == ["first", "second", "tr\u00e4g\u202e"]
    assert [datetime.fromisoformat(e["at"]) for e in errors] == times
    assert all(e["type"] == "Boom" and e["code"] is None for e in errors)


async def test_an_outcome_without_an_error_appends_none(engine, worker):
    held = await take(engine)
    await settle(engine, held, retried())
    [held] = await claim(engine)
    await settle(engine, held, snoozed())
    [held] = await claim(engine)
    await settle(engine, held)
    assert len((await read(engine, held.id)).errors) == 1


async def test_run_time_adds_up_over_attempts(engine, worker):
    held = await take(engine)
    for seconds in (0.5, 1.25):
        await settle(engine, held, retried(), ran_for=seconds)
        [held] = await claim(engine)
    await settle(engine, held, ran_for=2.0)
    assert (await read(engine, held.id)).ran_for == pytest.approx(3.75)


async def test_a_cancelled_run_keeps_the_reason(engine, worker):
    held = await finish(engine, outcome=Cancelled("cancelled while running"))
    assert (await read(engine, held.id)).note == "cancelled while running"


async def test_a_snoozed_job_says_why(engine, worker):
    held = await finish(engine, outcome=snoozed(60))
    assert (await read(engine, held.id)).note == "later"


async def test_snoozing_for_ever_never_spends_an_attempt(engine, worker):
    held = await take(engine, max_attempts=1)
    for _ in range(5):
        assert held.attempt == 1
        await settle(engine, held, snoozed())
        [held] = await claim(engine)
    assert (await read(engine, held.id)).attempt == 1


async def test_a_suspect_stays_one_until_it_ends_and_crashes_are_counted(engine, worker):
    held = await take(engine)
    await settle(engine, held, Released("crashed", error(), suspect=True, crashed=True))
    [held] = await claim(engine)
    assert (held.suspect, held.crashes, held.attempt) == (True, 1, 1)
    await settle(engine, held, retried())
    [held] = await claim(engine)
    assert (held.suspect, held.crashes) == (True, 1)
    await settle(engine, held, Failed("crash-loop", error(), crashed=True))
    job = await read(engine, held.id)
    assert (job.suspect, job.crashes, job.rescues) == (True, 2, 0)


async def test_nothing_of_a_run_is_left_when_the_job_waits_again(engine, worker):
    held = await finish(engine, outcome=retried())
    assert (await read(engine, held.id)).worker is None


# -- dead letters -----------------------------------------------------------------------------------


async def test_a_failed_job_writes_its_dead_letter_in_the_same_step(engine, worker, clock):
    held = await take(
        engine,
        args='{"n":1}',
        key="k",
        owner="u1",
        priority=Priority.HIGH,
        max_attempts=2,
        options='{"o":1}',
    )
    started = clock.now()
    await settle(engine, held, retried(message="first"), ran_for=1.0)
    clock.advance(5)
    [held] = await claim(engine)
    clock.advance(5)
    await settle(engine, held, failed("exhausted", "second"), ran_for=2.0)
    dead = await engine.dead_letter(held.id)
    assert dead is not None
    assert (dead.job_id, dead.queue, dead.task) == (held.id, QUEUE, TASK)
    assert (dead.args_json, dead.options_json) == ('{"n":1}', '{"o":1}')
    assert (dead.key, dead.unique, dead.owner) == ("k", True, "u1")
    assert (dead.priority, dead.max_attempts, dead.attempts) == (Priority.HIGH, 2, 2)
    assert dead.reason == "exhausted"
    assert dead.error is not None
    assert (dead.error["type"], dead.error["message"]) == ("Boom", "second")
    assert dead.first_started_at == started
    assert dead.failed_at == clock.now()
    assert dead.ran_for == pytest.approx(3.0)
    assert dead.recovered_at is dead.recovered_as is None
    assert await engine.dead_count() == 1


async def test_the_failed_job_itself_keeps_its_history(engine, worker):
    held = await take(engine)
    await settle(engine, held, retried(message="first"))
    [held] = await claim(engine)
    await settle(engine, held, failed("unrecoverable", "second"))
    job = await read(engine, held.id)
    assert [e["message"] for e in job.errors] == ["first", "second"]
    assert (job.note, job.attempt, job.recovered_as) == ("unrecoverable", 2, None)


async def test_a_failure_without_an_error_is_a_dead_letter_too(engine, worker):
    held = await finish(engine, outcome=Failed("crashed", None))
    dead = await engine.dead_letter(held.id)
    assert dead is not None
    assert (dead.reason, dead.error) == ("crashed", None)


@pytest.mark.parametrize("outcome", [o for o in EVERY_OUTCOME if o.verb != "fail"], ids=name_of)
async def test_no_other_outcome_writes_a_dead_letter(engine, worker, outcome):
    held = await finish(engine, outcome=outcome)
    assert await engine.dead_letter(held.id) is None
    assert await engine.dead_count() == 0


# -- keep -------------------------------------------------------------------------------------------


async def test_a_completed_job_that_is_not_kept_leaves_no_record_and_frees_its_key(engine, worker):
    held = await take(engine, key="k")
    assert await settle(engine, held, keep=False)
    assert await engine.get(held.id) is None
    assert await counts(engine) == {}
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


@pytest.mark.parametrize("outcome", [o for o in EVERY_OUTCOME if o.verb != "complete"], ids=name_of)
async def test_only_completed_jobs_can_be_dropped(engine, worker, outcome):
    held = await take(engine, key="k")
    await settle(engine, held, outcome, keep=False)
    assert (await read(engine, held.id)).state is outcome.state
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is True


# -- the fence --------------------------------------------------------------------------------------


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


# -- the next claims --------------------------------------------------------------------------------


async def test_settling_brings_the_next_jobs(engine, worker):
    held = await take(engine)
    jobs = news(5)
    await engine.enqueue(jobs)
    settled = await engine.settle([end(held)], want(limit=3))
    assert (settled.accepted, settled.expired) == ([True], False)
    assert ids(settled.claims) == ids(jobs[:3])
    assert all(c.attempt == 1 for c in settled.claims)
    assert all([await settle(engine, c) for c in settled.claims])


async def test_settling_nothing_may_still_claim(engine, worker):
    job = await put(engine)
    assert ids((await engine.settle([], want())).claims) == [job]


async def test_a_refused_settlement_does_not_stop_the_claims(engine, worker):
    held = await take(engine)
    job = await put(engine)
    settled = await engine.settle([end(held._replace(token="x"))], want())
    assert settled.accepted == [False]
    assert ids(settled.claims) == [job]


async def test_an_expired_worker_settles_by_its_tokens_and_claims_nothing(engine, worker, clock):
    held = await take(engine)
    waiting = await put(engine)
    clock.advance(31)
    assert await engine.settle([end(held)], want()) == Settled([True], [], True)
    assert await state(engine, held.id) is State.COMPLETED
    assert await state(engine, waiting) is State.WAITING


async def test_a_worker_given_up_is_told_so_when_it_settles(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert await engine.settle([end(held)], want()) == Settled([False], [], True)


async def test_claims_of_a_settle_can_be_released_by_their_request(engine, worker):
    held = await take(engine)
    job = await put(engine)
    await engine.settle([end(held)], want(request="r1"))
    assert await engine.release(WORKER, "r1") == 1
    assert (await read(engine, job)).attempt == 0


# -- asked to stop ----------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=name_of)
async def test_a_job_asked_to_stop_does_not_run_again(engine, worker, outcome):
    held = await take(engine)
    await engine.cancel([held.id], "not wanted")
    assert await settle(engine, held, outcome)
    expected = outcome.state if outcome.state.finished else State.CANCELLED
    assert await state(engine, held.id) is expected
    assert await counts(engine) == {expected: 1}
    assert await claim(engine) == []


async def test_a_job_cancelled_instead_of_retried_keeps_its_error_and_writes_no_dead_letter(
    engine, worker, clock
):
    held = await take(engine)
    await engine.cancel([held.id], "not wanted")
    await settle(engine, held, retried(60))
    job = await read(engine, held.id)
    assert (job.state, job.finished_at) == (State.CANCELLED, clock.now())
    assert [e["message"] for e in job.errors] == ["boom"]
    assert await engine.dead_letter(held.id) is None


def test_the_error_of_the_kit_is_json():
    assert json.loads(error("x"))["message"] == "x"
