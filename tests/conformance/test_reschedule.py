"""reschedule: waiting and delayed jobs get another due time, and their expiry moves with them."""

from datetime import timedelta

import pytest

from conformance.kit import blocked, claim, counts, finish, ids, new, put, read, retried, settle, state, take
from penstock.model.job import Ties
from penstock.model.states import State


@pytest.mark.parametrize("before", [0, 5, 300])
async def test_a_job_is_due_so_many_seconds_from_now(engine, worker, clock, before):
    job = await put(engine, delay=before)
    clock.advance(2)
    assert await engine.reschedule([job], 60) == 1
    found = await read(engine, job)
    assert (found.state, found.due_at) == (State.DELAYED, clock.now() + timedelta(seconds=60))
    assert await counts(engine) == {State.DELAYED: 1}
    assert await engine.stage(10) == pytest.approx(60)
    assert await claim(engine) == []


async def test_a_rescheduled_job_is_staged_and_claimed_when_it_is_due(engine, worker, clock):
    job = await put(engine)
    await engine.reschedule([job], 10)
    clock.advance(11)
    await engine.stage(10)
    assert ids(await claim(engine)) == [job]


@pytest.mark.parametrize("before", [0, 60])
async def test_no_delay_makes_it_due_now(engine, worker, clock, before):
    job = await put(engine, delay=before)
    clock.advance(5)
    assert await engine.reschedule([job], 0) == 1
    found = await read(engine, job)
    assert (found.state, found.due_at) == (State.WAITING, clock.now())
    assert ids(await claim(engine)) == [job]


async def test_a_rescheduled_job_stands_by_its_new_due_time(engine, worker, clock):
    first = await put(engine)
    clock.advance(1)
    second = await put(engine)
    clock.advance(1)
    await engine.reschedule([first], 0)
    clock.advance(1)
    third = await put(engine)
    assert ids(await claim(engine)) == [second, first, third]


@pytest.mark.parametrize("before", [0, 20])
async def test_its_expiry_moves_with_it(engine, worker, clock, before):
    job = await put(engine, delay=before, expire_after=10)
    clock.advance(5)
    await engine.reschedule([job], 60)
    found = await read(engine, job)
    assert found.expires_at == clock.now() + timedelta(seconds=70)
    clock.advance(65)
    assert len(await engine.expire(10)) == 0
    clock.advance(6)
    assert len(await engine.expire(10)) == 1


async def test_a_job_without_expiry_gets_none(engine):
    job = await put(engine)
    await engine.reschedule([job], 60)
    assert (await read(engine, job)).expires_at is None


async def test_only_waiting_and_delayed_jobs_are_rescheduled(engine, worker):
    done, running = await finish(engine), await take(engine, ties=Ties(feeds=True))
    waiting, delayed = await put(engine), await put(engine, delay=60)
    behind = await blocked(engine, running.id)
    before = [await read(engine, job) for job in (done.id, running.id, behind)]
    assert await engine.reschedule([done.id, running.id, behind, waiting, delayed, new().id], 5) == 2
    assert [await read(engine, job) for job in (done.id, running.id, behind)] == before
    assert await counts(engine) == {
        State.COMPLETED: 1, State.ACTIVE: 1, State.BLOCKED: 1, State.DELAYED: 2,
    }  # fmt: skip


async def test_a_job_is_counted_once_and_others_are_left_alone(engine):
    one, other = await put(engine), await put(engine)
    assert await engine.reschedule([one, one], 5) == 1
    assert await engine.reschedule([], 5) == 0
    assert await state(engine, other) is State.WAITING


async def test_a_rescheduled_job_keeps_what_it_has_been_through(engine, worker):
    held = await take(engine, key="k", owner="ana")
    await settle(engine, held, retried())
    await engine.reschedule([held.id], 60)
    job = await read(engine, held.id)
    assert (job.attempt, len(job.errors), job.owner, job.status) == (1, 1, "ana", "processing")
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.duplicate) == (held.id, True)
