"""Ties and time: when a job that came free is due, and how long it may stay blocked."""

from datetime import timedelta

import pytest

from conformance.kit import (
    FEEDS,
    after,
    blocked,
    claim,
    counts,
    ids,
    new,
    put,
    read,
    register,
    settle,
    state,
    take,
)
from penstock.model.job import Edge, Ties
from penstock.model.outcome import UPSTREAM_LATE, UPSTREAM_MISSING
from penstock.model.states import State

# -- due time and expiry ----------------------------------------------------------------------------------


async def test_an_unblocked_job_is_due_now_where_its_due_time_has_passed(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, delay=10, expire_after=10)
    clock.advance(25)
    await settle(engine, held)
    job = await read(engine, second)
    assert (job.state, job.due_at) == (State.WAITING, clock.now())
    assert job.expires_at == clock.now() + timedelta(seconds=10)


async def test_an_unblocked_job_keeps_a_due_time_that_is_still_to_come(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    begun = clock.now()
    second = await blocked(engine, held.id, delay=60, expire_after=10)
    clock.advance(5)
    await settle(engine, held)
    job = await read(engine, second)
    assert (job.state, job.due_at) == (State.DELAYED, begun + timedelta(seconds=60))
    assert job.expires_at == begun + timedelta(seconds=70)
    assert await engine.stage(10) == pytest.approx(55)


async def test_an_unblocked_job_stands_by_the_time_it_came_free(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(5)
    before = await put(engine)
    clock.advance(5)
    await settle(engine, held)
    assert ids(await claim(engine)) == [before, second]


async def test_a_blocked_job_does_not_expire(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, expire_after=10)
    clock.advance(20)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, second) is State.BLOCKED
    await settle(engine, held)
    clock.advance(9)
    assert len(await engine.expire(10)) == 0
    clock.advance(2)
    assert len(await engine.expire(10)) == 1
    assert await state(engine, second) is State.CANCELLED


async def test_a_blocked_job_is_neither_staged_promoted_rescheduled_nor_deleted(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, delay=5)
    clock.advance(10)
    assert await engine.stage(10) is None
    assert await engine.promote([second]) == 0
    assert await engine.reschedule([second], 0) == 0
    assert await engine.delete([second]) == 0
    assert await state(engine, second) is State.BLOCKED


# -- the deadline -----------------------------------------------------------------------------------------


async def late(engine, at_deadline, **more) -> tuple[str, str]:
    """A job whose upstream never comes, and one behind it."""
    ties = after(new().id, feeds=True, deadline=60, at_deadline=at_deadline)
    job = await put(engine, ties=ties, **more)
    return job, await blocked(engine, job)


@pytest.mark.parametrize("at_deadline", ["skip", "run", "fail"])
async def test_before_its_deadline_a_job_stays_blocked(engine, clock, at_deadline):
    job, _ = await late(engine, at_deadline)
    clock.advance(59)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, job) is State.BLOCKED


async def test_skip_cancels_a_job_at_its_deadline(engine, clock):
    job, behind = await late(engine, "skip")
    clock.advance(61)
    assert len(await engine.expire(10)) == 1
    found = await read(engine, job)
    assert (found.state, found.finished_at) == (State.CANCELLED, clock.now())
    assert found.note == UPSTREAM_LATE
    assert await engine.dead_letter(job) is None
    assert await state(engine, behind) is State.CANCELLED


async def test_run_lets_a_job_go_at_its_deadline(engine, worker, clock):
    job, behind = await late(engine, "run", expire_after=10)
    clock.advance(61)
    assert len(await engine.expire(10)) == 1
    found = await read(engine, job)
    assert (found.state, found.due_at, found.blocked_by) == (State.WAITING, clock.now(), ())
    assert found.expires_at == clock.now() + timedelta(seconds=10)
    await register(engine, "later")
    [held] = await claim(engine, worker="later")
    assert held.id == job
    await settle(engine, held)
    assert await state(engine, behind) is State.WAITING


async def test_fail_makes_a_dead_letter_at_the_deadline(engine, clock):
    job, behind = await late(engine, "fail", args='{"n":1}')
    clock.advance(61)
    assert len(await engine.expire(10)) == 1
    found, dead = await read(engine, job), await engine.dead_letter(job)
    assert (found.state, found.attempt, found.note) == (State.FAILED, 0, UPSTREAM_MISSING)
    assert dead is not None
    assert (dead.reason, dead.args, dead.attempts, dead.error) == (UPSTREAM_MISSING, {"n": 1}, 0, None)
    assert (dead.failed_at, dead.first_started_at) == (clock.now(), None)
    assert await engine.dead_count() == 1
    assert await state(engine, behind) is State.CANCELLED


async def test_a_deadline_sweep_is_bounded(engine, clock):
    for _ in range(3):
        await put(engine, ties=after(new().id, deadline=10))
    clock.advance(11)
    assert [len(await engine.expire(2)) for _ in range(3)] == [2, 1, 0]
    assert await counts(engine) == {State.CANCELLED: 3}


async def test_the_deadline_of_a_job_that_came_free_means_nothing(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, deadline=10))
    await settle(engine, held)
    clock.advance(11)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, second) is State.WAITING


async def test_an_upstream_that_ends_after_the_deadline_changes_nothing(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, deadline=10))
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert await settle(engine, held)
    assert await state(engine, second) is State.CANCELLED


async def test_who_waits_for_a_job_that_expires_ends_with_it_and_not_by_the_deadline(engine, worker, clock):
    first = new(expire_after=5)
    second = new(ties=Ties((Edge(first.id),), deadline=5.0, at_deadline="fail"))
    await engine.enqueue([first, second])
    clock.advance(6)
    assert len(await engine.expire(10)) == 1
    assert await state(engine, second.id) is State.CANCELLED
    assert await engine.dead_count() == 0
