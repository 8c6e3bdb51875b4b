"""Windows: for how long a given key keeps others out."""

import pytest

from conformance.kit import (
    EVERY_OUTCOME,
    QUEUE,
    TASK,
    claim,
    counts,
    failed,
    finish,
    ids,
    name_of,
    new,
    put,
    register,
    retried,
    settle,
    state,
    take,
)
from penstock.engine import Recovery, Retention
from penstock.model.job import Window
from penstock.model.outcome import Cancelled, Released
from penstock.model.states import State

UNFINISHED, STARTED, MINUTE = Window("unfinished"), Window("started"), Window("period", 60)
ENDS = [o for o in EVERY_OUTCOME if o.state.finished]
NOT_ENDS = [o for o in EVERY_OUTCOME if not o.state.finished]
EVERY_WINDOW = [Window(), UNFINISHED, STARTED, MINUTE, Window("debounce", 60)]


async def holder(engine, window=UNFINISHED, **more) -> str | None:
    """Who keeps the key `k`; None where a newcomer got it."""
    [answer] = await engine.enqueue([new(key="k", window=window, **more)])
    return answer.id if answer.duplicate else None


async def later(engine, clock, seconds: float) -> None:
    clock.advance(seconds)
    await register(engine, f"worker-after-{seconds}")


# -- all of them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", EVERY_WINDOW, ids=lambda w: w.kind)
async def test_a_job_not_begun_holds_its_key(engine, window):
    job = await put(engine, key="k", window=window)
    assert await holder(engine, window) == job
    assert sum((await counts(engine)).values()) == 1


@pytest.mark.parametrize("window", EVERY_WINDOW, ids=lambda w: w.kind)
async def test_a_key_is_held_per_queue_and_task(engine, window):
    await put(engine, key="k", window=window)
    others = [new("other", TASK, key="k", window=window), new(QUEUE, "app.other", key="k", window=window)]
    assert [a.duplicate for a in await engine.enqueue(others)] == [False, False]


@pytest.mark.parametrize("window", EVERY_WINDOW, ids=lambda w: w.kind)
async def test_of_two_in_one_call_one_is_made(engine, window):
    one, two = new(key="k", window=window), new(key="k", window=window)
    answers = await engine.enqueue([one, two])
    assert [(a.id, a.duplicate) for a in answers] == [(one.id, False), (one.id, True)]


@pytest.mark.parametrize("window", EVERY_WINDOW, ids=lambda w: w.kind)
async def test_enqueueing_again_is_answered_as_its_own(engine, window):
    job = new(key="k", window=window)
    answers = await engine.enqueue([job])
    assert await engine.enqueue([job], again=True) == answers


@pytest.mark.parametrize("window", [UNFINISHED, STARTED, MINUTE], ids=lambda w: w.kind)
async def test_the_window_is_the_holders_not_the_newcomers(engine, worker, window):
    done = await finish(engine, key="k")
    assert await holder(engine, window) == done.id


# -- unfinished -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", NOT_ENDS, ids=name_of)
async def test_unfinished_holds_while_the_job_may_run_again(engine, worker, outcome):
    held = await take(engine, key="k", window=UNFINISHED)
    assert await holder(engine) == held.id
    await settle(engine, held, outcome)
    assert await holder(engine) == held.id


@pytest.mark.parametrize("outcome", ENDS, ids=name_of)
async def test_unfinished_lets_go_when_the_job_ends(engine, worker, outcome):
    held = await take(engine, key="k", window=UNFINISHED)
    await settle(engine, held, outcome)
    assert await holder(engine) is None
    assert await state(engine, held.id) is outcome.state


async def test_unfinished_lets_go_when_the_job_is_cancelled_or_expires(engine, clock):
    job = await put(engine, key="k", window=UNFINISHED)
    await engine.cancel([job], "no")
    assert await holder(engine, expire_after=10) is None
    clock.advance(11)
    await engine.expire(10)
    assert await holder(engine) is None


async def test_unfinished_lets_go_when_a_rescue_ends_the_job(engine, worker, clock):
    held = await take(engine, key="k", window=UNFINISHED)
    clock.advance(31)
    await engine.rescue(10, lambda _: failed())
    assert await holder(engine) is None
    assert await state(engine, held.id) is State.FAILED


@pytest.mark.parametrize("window", [UNFINISHED, STARTED], ids=lambda w: w.kind)
async def test_removing_a_job_that_let_go_does_not_free_the_next_holders_key(engine, worker, window):
    one, two = await finish(engine, key="k", window=window), await finish(engine, key="k", window=window)
    third = await put(engine, key="k", window=window)
    assert await engine.delete([one.id]) == 1
    assert await holder(engine) == third
    assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 1
    assert await state(engine, two.id) is None
    assert await holder(engine) == third


async def test_a_run_of_an_earlier_holder_that_ends_does_not_free_the_next_holders_key(engine, worker):
    one = await take(engine, key="k", window=STARTED)
    two = await put(engine, key="k", window=UNFINISHED)
    await settle(engine, one)
    assert await holder(engine) == two


# -- started ----------------------------------------------------------------------------------------------


async def test_started_lets_go_when_the_job_is_first_claimed(engine, worker):
    held = await take(engine, key="k", window=STARTED)
    second = await put(engine, key="k", window=STARTED)
    assert second != held.id
    assert await holder(engine) == second


async def test_started_is_not_taken_again_by_a_job_back_in_line(engine, worker):
    held = await take(engine, key="k", window=STARTED)
    await settle(engine, held, retried())
    assert await holder(engine, STARTED) is None
    assert await counts(engine) == {State.WAITING: 2}


@pytest.mark.parametrize("outcome", [Released(), retried()], ids=name_of)
async def test_started_jobs_back_in_line_take_no_key_from_another_when_claimed_again(engine, worker, outcome):
    held = await take(engine, key="k", window=STARTED)
    second = await put(engine, key="k", window=STARTED, delay=60)
    await settle(engine, held, outcome)
    assert ids(await claim(engine)) == [held.id]
    assert await holder(engine) == second


async def test_started_lets_go_of_a_job_that_ends_before_it_is_claimed(engine):
    job = await put(engine, key="k", window=STARTED)
    await engine.cancel([job], "no")
    assert await holder(engine) is None


# -- a period ---------------------------------------------------------------------------------------------


async def test_a_period_holds_after_the_job_has_completed(engine, worker, clock):
    held = await finish(engine, key="k", window=MINUTE)
    clock.advance(59)
    [answer] = await engine.enqueue([new(key="k", window=MINUTE)])
    assert answer == (held.id, State.COMPLETED, True)


async def test_a_period_lets_go_when_it_is_over_though_the_record_lives(engine, worker, clock):
    held = await finish(engine, key="k", window=MINUTE)
    clock.advance(61)
    assert await holder(engine, MINUTE) is None
    assert await state(engine, held.id) is State.COMPLETED


async def test_a_period_counts_from_the_enqueueing_not_from_the_due_time(engine, worker, clock):
    await put(engine, key="k", window=MINUTE, delay=50)
    await later(engine, clock, 55)
    await engine.stage(10)
    [held] = await claim(engine, worker="worker-after-55")
    await settle(engine, held)
    assert await holder(engine, MINUTE) == held.id
    clock.advance(6)
    assert await holder(engine, MINUTE) is None


async def test_a_period_shorter_than_the_retries_holds_until_the_job_ends(engine, worker, clock):
    held = await take(engine, key="k", window=MINUTE)
    await settle(engine, held, retried(300))
    clock.advance(120)
    assert await holder(engine, MINUTE) == held.id
    await later(engine, clock, 300)
    await engine.stage(10)
    [again] = await claim(engine, worker="worker-after-300")
    assert await holder(engine, MINUTE) == held.id
    await settle(engine, again, failed())
    assert await holder(engine, MINUTE) is None


async def test_a_period_shorter_than_the_wait_in_line_holds_until_the_job_ends(engine, clock):
    job = await put(engine, key="k", window=MINUTE)
    clock.advance(600)
    assert await holder(engine, MINUTE) == job
    await engine.cancel([job], "no")
    assert await holder(engine, MINUTE) is None


@pytest.mark.parametrize("how", ["deleted", "pruned", "not kept"])
async def test_a_period_holds_when_the_record_is_gone(engine, worker, clock, how):
    held = await take(engine, key="k", window=MINUTE)
    await settle(engine, held, keep=how != "not kept")
    if how == "deleted":
        assert await engine.delete([held.id]) == 1
    elif how == "pruned":
        assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 1
    assert await engine.get(held.id) is None
    clock.advance(59)
    assert await engine.enqueue([new(key="k", window=MINUTE)]) == [(held.id, State.COMPLETED, True)]
    await engine.tidy()
    assert await holder(engine, MINUTE) == held.id
    clock.advance(2)
    assert await holder(engine, MINUTE) is None


async def test_a_period_over_is_begun_anew_by_the_next(engine, worker, clock):
    await finish(engine, key="k", window=MINUTE)
    await later(engine, clock, 61)
    second = await finish(engine, key="k", window=MINUTE, worker="worker-after-61")
    clock.advance(30)
    assert await holder(engine, MINUTE) == second.id
    clock.advance(31)
    assert await holder(engine, MINUTE) is None


async def test_removing_a_job_whose_period_is_over_does_not_free_the_next_holders_key(engine, worker, clock):
    old = await finish(engine, key="k", window=MINUTE)
    clock.advance(61)
    second = await put(engine, key="k", window=MINUTE)
    assert await engine.delete([old.id]) == 1
    assert await holder(engine, MINUTE) == second


# -- recovery ---------------------------------------------------------------------------------------------


async def recover(engine, dead_id) -> str:
    heir = new().id
    assert await engine.recover([Recovery(dead_id, heir)]) == [heir]
    return heir


@pytest.mark.parametrize("window", EVERY_WINDOW, ids=lambda w: w.kind)
async def test_a_recovered_job_takes_the_key_and_its_window_over(engine, worker, clock, window):
    await put(engine, key="k", window=window)
    await later(engine, clock, 61)
    await engine.stage(10)
    [held] = await claim(engine, worker="worker-after-61")
    await settle(engine, held, failed())
    heir = await recover(engine, held.id)
    assert await holder(engine, Window("unfinished")) == heir
    [again] = await claim(engine, worker="worker-after-61")
    assert again.id == heir
    free = window.kind in ("started", "debounce")
    assert (await holder(engine, Window("unfinished")) is None) is free


async def test_a_recovered_job_does_not_take_a_key_that_another_holds_by_now(engine, worker):
    held = await finish(engine, key="k", window=UNFINISHED, outcome=failed())
    second = await put(engine, key="k", window=UNFINISHED)
    heir = await recover(engine, held.id)
    assert await holder(engine) == second
    assert await engine.cancel([heir], "no") == [State.CANCELLED]
    assert await holder(engine) == second


async def test_a_recovered_job_of_an_unfinished_window_lets_go_when_it_ends(engine, worker):
    held = await finish(engine, key="k", window=UNFINISHED, outcome=failed())
    heir = await recover(engine, held.id)
    [again] = await claim(engine)
    await settle(engine, again, Cancelled("no"))
    assert again.id == heir
    assert await holder(engine) is None
