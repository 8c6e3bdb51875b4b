"""rescue: an expired worker's jobs come back, a living worker's never leave."""

import asyncio

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    TTL,
    WORKER,
    Witness,
    claim,
    counts,
    error,
    gone,
    ids,
    never,
    news,
    put,
    read,
    register,
    retried,
    settle,
    state,
    take,
)
from penstock.engine import Rescued
from penstock.model.decide import judge
from penstock.model.errors import WorkerExpired
from penstock.model.job import Held
from penstock.model.outcome import Cancelled, Failed, Released
from penstock.model.states import State


async def test_jobs_of_an_expired_worker_wait_again(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    assert await engine.rescue(10, gone) == [Rescued(held.id, QUEUE, TASK, WORKER, State.WAITING)]
    job = await read(engine, held.id)
    assert (job.state, job.attempt, job.worker) == (State.WAITING, 0, None)
    assert (job.suspect, job.rescues, job.crashes) == (True, 1, 0)
    assert await counts(engine) == {State.WAITING: 1}


async def test_a_living_workers_jobs_are_left_alone(engine, worker, clock):
    held = await take(engine)
    clock.advance(20)
    await engine.beat(worker, TTL)
    clock.advance(20)
    assert await engine.rescue(10, never) == []
    assert await settle(engine, held)


async def test_only_the_expired_workers_jobs_are_taken(engine, worker, clock):
    dead = await take(engine)
    await register(engine, "w2", ttl=1_000)
    alive = await take(engine, worker="w2")
    clock.advance(31)
    assert ids(await engine.rescue(10, gone)) == [dead.id]
    assert await state(engine, alive.id) is State.ACTIVE
    assert ids(await engine.workers()) == ["w2"]


async def test_the_judge_sees_each_job_as_it_was_held(engine, worker, clock):
    held = await take(engine, "mail", "app.send", max_attempts=7)
    await settle(engine, held, retried())
    [held] = await claim(engine, "mail")
    await engine.cancel([held.id], "no")
    clock.advance(31)
    witness = Witness(Cancelled("lost"))
    await engine.rescue(10, witness)
    assert witness.seen == [
        Held(held.id, "app.send", "mail", 2, 7, rescues=0, started=True, cancel_requested=True, worker=WORKER)
    ]


async def test_what_the_judge_says_is_done(engine, worker, clock):
    release, fail, cancel = news(3)
    await engine.enqueue([release, fail, cancel])
    await claim(engine)
    clock.advance(31)
    sentence = {
        release.id: Released("lost", error("lost"), suspect=True, rescued=True),
        fail.id: Failed("crash-loop", error("lost"), rescued=True),
        cancel.id: Cancelled("not wanted"),
    }
    rescued = await engine.rescue(10, lambda held: sentence[held.id])
    assert {r.id: r.state for r in rescued} == {
        release.id: State.WAITING,
        fail.id: State.FAILED,
        cancel.id: State.CANCELLED,
    }
    dead = await engine.dead_letter(fail.id)
    assert dead is not None
    assert (dead.reason, dead.attempts) == ("crash-loop", 1)
    assert (await read(engine, fail.id)).rescues == 1
    assert (await read(engine, release.id)).errors[0]["message"] == "lost"
    assert (await read(engine, cancel.id)).note == "not wanted"


async def test_the_models_own_judge_is_obeyed_to_the_end(engine, clock):
    job = await put(engine, max_attempts=2)
    for n in range(20):
        await register(engine, f"w{n}")
        assert ids(await claim(engine, worker=f"w{n}")) == [job]
        clock.advance(31)
        await engine.rescue(10, judge)
    found = await read(engine, job)
    assert (found.state, found.rescues, found.note) == (State.FAILED, 20, "crash-loop")
    assert len(found.errors) == 20


async def test_a_rescued_job_asked_to_stop_does_not_wait_again(engine, worker, clock):
    held = await take(engine)
    await engine.cancel([held.id], "no")
    clock.advance(31)
    [rescued] = await engine.rescue(10, gone)
    assert rescued.state is State.CANCELLED
    assert await state(engine, held.id) is State.CANCELLED


async def test_a_rescued_job_keeps_its_place_in_line(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    other = await put(engine)
    await engine.rescue(10, gone)
    await register(engine, "w2")
    assert ids(await claim(engine, worker="w2")) == [held.id, other]


async def test_a_rescue_is_final_for_the_worker(engine, worker, clock):
    await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert (await engine.beat(worker, TTL)).given_up
    with pytest.raises(WorkerExpired):
        await claim(engine)
    assert await engine.workers() == []


async def test_an_expired_worker_without_jobs_is_taken_too(engine, worker, clock):
    clock.advance(31)
    assert await engine.rescue(10, never) == []
    assert await engine.workers() == []
    assert (await engine.beat(worker, TTL)).given_up


async def test_a_rescue_is_bounded_and_a_full_worker_emptied_over_several(engine, worker, clock):
    await engine.enqueue(news(5))
    held = await claim(engine)
    clock.advance(31)
    first = await engine.rescue(2, gone)
    assert len(first) == 2
    assert (await engine.beat(worker, TTL)).given_up
    second, third = await engine.rescue(2, gone), await engine.rescue(2, gone)
    assert (len(second), len(third)) == (2, 1)
    assert sorted(ids(first + second + third)) == ids(held)
    assert await engine.rescue(2, never) == []
    assert await engine.workers() == []


async def test_a_half_emptied_workers_remaining_jobs_are_fenced_by_token_alone(engine, worker, clock):
    await engine.enqueue(news(2))
    held = await claim(engine)
    clock.advance(31)
    [rescued] = await engine.rescue(1, gone)
    accepted = {h.id: await settle(engine, h) for h in held}
    assert accepted == {h.id: h.id != rescued.id for h in held}


async def test_the_limit_holds_over_many_workers(engine, clock):
    for n in range(4):
        await register(engine, f"w{n}")
        await take(engine, worker=f"w{n}")
    clock.advance(31)
    sizes = [len(await engine.rescue(3, gone)) for _ in range(3)]
    assert (max(sizes), sum(sizes)) == (3, 4)


async def test_a_crowd_of_idle_expired_workers_does_not_hide_those_with_jobs(engine, clock):
    for n in range(20):
        await register(engine, f"idle{n}")
    await register(engine, "busy")
    held = await take(engine, worker="busy")
    clock.advance(31)
    rescued = [r for _ in range(12) for r in await engine.rescue(2, gone)]
    assert ids(rescued) == [held.id]


async def test_a_completed_job_is_never_rescued(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await settle(engine, held)
    assert await engine.rescue(10, never) == []
    assert await state(engine, held.id) is State.COMPLETED


async def test_two_rescuers_take_each_job_once(make_engine, clock):
    one, two = await make_engine(), await make_engine()
    await register(one)
    await one.enqueue(news(40))
    held = await claim(one)
    clock.advance(31)
    rounds = await asyncio.gather(*(e.rescue(15, gone) for e in (one, two) * 4))
    assert sorted(r.id for rescued in rounds for r in rescued) == ids(held)
