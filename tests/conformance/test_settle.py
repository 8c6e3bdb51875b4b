"""settle: what each outcome makes of a job, its record, its dead letter and its key."""

from datetime import datetime, timedelta

import pytest

from conformance.kit import (
    EVERY_OUTCOME,
    QUEUE,
    TASK,
    claim,
    counts,
    end,
    error,
    failed,
    finish,
    ids,
    name_of,
    new,
    put,
    read,
    register,
    retried,
    settle,
    snoozed,
    state,
    take,
)
from penstock.engine import Settled
from penstock.model.outcome import Cancelled, Completed, Failed, Released
from penstock.model.priority import Priority
from penstock.model.states import State, Status

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


async def test_a_snoozed_job_has_started_and_stays_so(engine, worker, clock):
    held = await take(engine)
    first = clock.now()
    clock.advance(1)
    await settle(engine, held, snoozed(), ran_for=0.001)
    job = await read(engine, held.id)
    assert (job.attempt, job.started_at, job.status) == (0, first, Status.PROCESSING)
    clock.advance(1)
    [again] = await claim(engine)
    await settle(engine, again, Released())
    assert (await read(engine, held.id)).started_at == first
    clock.advance(1)
    [last] = await claim(engine)
    await settle(engine, last, Completed())
    assert (await read(engine, held.id)).started_at == first


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
