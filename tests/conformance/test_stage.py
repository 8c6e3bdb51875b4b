"""stage: what falls due waits."""

import pytest

from conformance.kit import claim, counts, ids, news, put, read, retried, settle, state, take
from penstock.model.states import State


async def test_due_jobs_wait_and_others_stay_delayed(engine, clock):
    due, later = await put(engine, delay=10), await put(engine, delay=20)
    clock.advance(10)
    await engine.stage(10)
    assert await state(engine, due) is State.WAITING
    assert await state(engine, later) is State.DELAYED
    assert await counts(engine) == {State.WAITING: 1, State.DELAYED: 1}


async def test_staging_changes_nothing_but_the_state(engine, clock):
    job_id = await put(engine, delay=10)
    before = await read(engine, job_id)
    clock.advance(60)
    await engine.stage(10)
    after = await read(engine, job_id)
    assert (after.due_at, after.attempt, after.created_at) == (before.due_at, 0, before.created_at)


async def test_it_answers_when_the_next_falls_due(engine, clock):
    await engine.enqueue([*news(1, delay=90), *news(1, delay=30, queue="other"), *news(1)])
    assert await engine.stage(10) == pytest.approx(30)
    clock.advance(12.5)
    assert await engine.stage(10) == pytest.approx(17.5)
    clock.advance(20)
    assert await engine.stage(10) == pytest.approx(57.5)


async def test_it_answers_none_where_nothing_will_fall_due(engine, clock):
    assert await engine.stage(10) is None
    await put(engine)
    assert await engine.stage(10) is None
    await put(engine, delay=5)
    clock.advance(5)
    assert await engine.stage(10) is None


async def test_a_step_is_bounded_and_the_earliest_come_first(engine, clock):
    jobs = [*news(1, delay=3), *news(1, delay=1), *news(1, delay=2)]
    await engine.enqueue(jobs)
    clock.advance(10)
    left = await engine.stage(2)
    assert left is not None
    assert left <= 0
    assert [await state(engine, j.id) for j in jobs] == [State.DELAYED, State.WAITING, State.WAITING]
    assert await engine.stage(2) is None
    assert await counts(engine) == {State.WAITING: 3}


async def test_what_became_due_is_claimed_by_rank(engine, worker, clock):
    low, high = await put(engine, delay=10, priority=4), await put(engine, delay=10, priority=2)
    clock.advance(10)
    await engine.stage(10)
    assert ids(await claim(engine)) == [high, low]


async def test_a_retried_job_is_staged_like_any_other(engine, worker, clock):
    held = await take(engine)
    await settle(engine, held, retried(5))
    assert await engine.stage(10) == pytest.approx(5)
    clock.advance(5)
    await engine.stage(10)
    [again] = await claim(engine)
    assert (again.id, again.attempt) == (held.id, 2)


async def test_a_fraction_of_a_second_counts(engine, clock):
    job = await put(engine, delay=0.25)
    clock.advance(0.2)
    assert await engine.stage(10) == pytest.approx(0.05, abs=0.002)
    assert await state(engine, job) is State.DELAYED
    clock.advance(0.06)
    await engine.stage(10)
    assert await state(engine, job) is State.WAITING


async def test_a_paused_queue_is_staged_all_the_same(engine, clock):
    job = await put(engine, delay=5)
    await engine.set_paused("default", True)
    clock.advance(5)
    await engine.stage(10)
    assert await state(engine, job) is State.WAITING
