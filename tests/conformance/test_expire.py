"""expire: what nobody wants any more is not begun."""

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    after,
    claim,
    counts,
    gone,
    ids,
    make_id,
    name_of,
    new,
    news,
    parked,
    put,
    read,
    retried,
    settle,
    snoozed,
    state,
    take,
)
from penstock.engine import Expired, JobFilter
from penstock.model.outcome import EXPIRED, Released
from penstock.model.states import State


async def test_a_waiting_job_past_its_expiry_is_cancelled_and_says_why(engine, worker, clock):
    job_id = await put(engine, expire_after=10)
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    job = await read(engine, job_id)
    assert (job.state, job.finished_at, job.attempt) == (State.CANCELLED, clock.now(), 0)
    assert job.note == EXPIRED
    assert await counts(engine) == {State.CANCELLED: 1}
    assert await claim(engine) == []


async def test_the_sweep_tells_which_jobs_it_ended_whose_they_are_and_why(engine, worker, clock):
    expired = await put(engine, "other", expire_after=10, owner="ana")
    waits = {
        how: await put(engine, ties=after(make_id(), deadline=10, at_deadline=how))
        for how in ("skip", "fail", "run")
    }
    clock.advance(11)
    assert sorted(await engine.expire(10)) == sorted(
        [
            Expired(expired, "other", TASK, "ana", State.CANCELLED, missed=False),
            Expired(waits["skip"], QUEUE, TASK, None, State.CANCELLED, missed=True),
            Expired(waits["fail"], QUEUE, TASK, None, State.FAILED, missed=True),
            Expired(waits["run"], QUEUE, TASK, None, State.WAITING, missed=True),
        ]
    )
    assert await engine.expire(10) == []


async def test_a_job_past_its_expiry_is_not_begun_even_before_the_sweep(engine, worker, clock):
    job = await put(engine, expire_after=10)
    clock.advance(11)
    assert await claim(engine) == []
    assert await state(engine, job) is State.WAITING


async def test_a_job_past_its_expiry_is_in_nobodys_way(engine, worker, clock):
    await engine.enqueue(news(3, expire_after=10))
    clock.advance(11)
    fresh = news(2)
    await engine.enqueue(fresh)
    assert ids(await claim(engine, limit=2)) == ids(fresh)
    assert await claim(engine, limit=2) == []
    assert len(await engine.jobs(JobFilter(state=State.WAITING), 10)) == 3
    assert len(await engine.expire(10)) == 3


async def test_what_stands_behind_a_job_past_its_expiry_is_claimed_in_its_place(engine, worker, clock):
    await put(engine, "a", expire_after=10)
    clock.advance(11)
    behind, later = await put(engine, "a"), await put(engine, "b", priority=4)
    assert ids(await claim(engine, per_queue={"a": 1, "b": 1})) == [behind, later]


async def test_a_parked_job_past_its_expiry_is_told_until_the_sweep(engine, worker, clock):
    held = await take(engine, expire_after=10)
    clock.advance(11)
    await settle(engine, held, parked(misfit="v1"))
    assert await claim(engine, tasks={TASK: "v2"}) == []
    assert [p.jobs for p in await engine.parked()] == [1]
    assert len(await engine.expire(10)) == 1
    assert await engine.parked() == []


async def test_a_job_within_its_time_is_left_alone(engine, clock):
    job = await put(engine, expire_after=10)
    clock.advance(9)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, job) is State.WAITING


async def test_a_job_without_expiry_waits_for_ever(engine, clock):
    job = await put(engine)
    clock.advance(days=1_000)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, job) is State.WAITING


async def test_expiry_counts_from_the_due_time(engine, clock):
    job = await put(engine, delay=100, expire_after=10)
    clock.advance(50)
    assert len(await engine.expire(10)) == 0
    clock.advance(61)
    assert len(await engine.expire(10)) == 1  # still delayed: nobody staged it
    assert await state(engine, job) is State.CANCELLED


async def test_a_running_job_does_not_expire(engine, worker, clock):
    held = await take(engine, expire_after=10)
    clock.advance(20)
    assert len(await engine.expire(10)) == 0
    assert await settle(engine, held)


@pytest.mark.parametrize("outcome", [retried(), retried(5), snoozed(), snoozed(5)], ids=name_of)
async def test_a_job_that_has_run_does_not_expire(engine, worker, clock, outcome):
    held = await take(engine, expire_after=10)
    await settle(engine, held, outcome)
    assert (await read(engine, held.id)).expires_at is None
    clock.advance(11)
    assert len(await engine.expire(10)) == 0
    await engine.stage(10)
    assert ids(await claim(engine)) == [held.id]


async def test_a_job_whose_worker_was_lost_does_not_expire(engine, worker, clock):
    held = await take(engine, expire_after=10)
    await engine.rescue_worker(WORKER, frozenset([held.token]), gone)
    clock.advance(11)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, held.id) is State.WAITING


async def test_a_job_that_was_handed_back_before_it_began_expires(engine, worker, clock):
    held = await take(engine, expire_after=10)
    await settle(engine, held, Released())
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert await state(engine, held.id) is State.CANCELLED


async def test_a_job_that_has_run_can_be_rescheduled_and_recovered_like_any(engine, worker, clock):
    held = await take(engine, expire_after=10, owner="ana", key="k")
    await settle(engine, held, snoozed(60))
    assert await engine.reschedule([held.id], 5) == 1
    clock.advance(20)
    await engine.stage(10)
    [again] = await claim(engine)
    assert (again.id, again.owner, again.key) == (held.id, "ana", "k")
    assert await settle(engine, again)


async def test_a_finished_job_does_not_expire(engine, worker, clock):
    held = await take(engine, expire_after=10)
    await settle(engine, held)
    clock.advance(20)
    assert len(await engine.expire(10)) == 0
    assert await state(engine, held.id) is State.COMPLETED


async def test_a_step_is_bounded(engine, clock):
    await engine.enqueue(news(5, expire_after=1))
    clock.advance(2)
    assert [len(await engine.expire(2)) for _ in range(4)] == [2, 2, 1, 0]
    assert await counts(engine) == {State.CANCELLED: 5}


async def test_an_expired_job_holds_its_key_like_any_finished_one(engine, clock):
    job = await put(engine, key="k", expire_after=1)
    clock.advance(2)
    await engine.expire(10)
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.state, answer.duplicate) == (job, State.CANCELLED, True)


async def test_an_expired_job_is_no_dead_letter(engine, clock):
    job = await put(engine, expire_after=1)
    clock.advance(2)
    await engine.expire(10)
    assert await engine.dead_letter(job) is None
