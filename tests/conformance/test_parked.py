"""Parked lanes: a job that no worker here can run waits for one that can, in nobody's way."""

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    claim,
    counts,
    failed,
    gone,
    ids,
    new,
    news,
    parked,
    put,
    read,
    register,
    retried,
    settle,
    state,
    take,
)
from penstock.engine import Parked, Recovery
from penstock.model.lanes import is_parked, misfits
from penstock.model.outcome import Released
from penstock.model.states import State


async def park(engine, job=None, misfit=None, reason="nobody knows it") -> str:
    """Enqueue a job, claim it, find it unfit and park it."""
    job = job or new()
    await engine.enqueue([job])
    held = next(h for h in await claim(engine, job.queue) if h.id == job.id)
    assert await settle(engine, held, parked(job.task, misfit, reason))
    return job.id


async def test_a_parked_job_waits_aside_with_the_reason_and_its_attempt_back(engine, worker):
    job_id = await park(engine, reason="payload does not fit: n is missing", misfit="v1")
    job = await read(engine, job_id)
    assert (job.state, job.parked, job.attempt) == (State.WAITING, True, 0)
    assert is_parked(job.lane)
    assert job.note == "payload does not fit: n is missing"
    assert await counts(engine) == {State.WAITING: 1}


async def test_an_unknown_task_is_claimed_by_a_worker_that_knows_it(engine, worker):
    job = await park(engine)
    assert await claim(engine, tasks={}) == []
    assert await claim(engine, tasks={"app.other": "v1"}) == []
    assert ids(await claim(engine, tasks={TASK: "v1"})) == [job]


async def test_a_misfit_is_claimed_by_a_worker_with_another_signature_only(engine, worker):
    job = await park(engine, misfit="v1")
    assert await claim(engine, tasks={TASK: "v1"}) == []
    assert await claim(engine, tasks={"app.other": "v2"}) == []
    assert ids(await claim(engine, tasks={TASK: "v2"})) == [job]


async def test_a_parked_job_is_in_nobodys_way(engine, worker, clock):
    await park(engine, misfit="v1")
    clock.advance(1)
    others = news(3)
    await engine.enqueue(others)
    assert ids(await claim(engine)) == ids(others)


async def test_parked_jobs_keep_their_order(engine, worker, clock):
    jobs = []
    for priority in (4, 2, 3):
        jobs.append(await park(engine, new(priority=priority), misfit="v1"))
        clock.advance(1)
    assert ids(await claim(engine, tasks={TASK: "v2"})) == [jobs[1], jobs[2], jobs[0]]


async def test_a_parked_lane_keeps_to_the_limits_and_the_pause_of_its_queue(engine, worker):
    for _ in range(3):
        await park(engine, misfit="v1")
    able = {TASK: "v2"}
    assert await claim(engine, "other", tasks=able) == []
    await engine.set_paused(QUEUE, True)
    assert await claim(engine, tasks=able) == []
    await engine.set_paused(QUEUE, False)
    assert len(await claim(engine, tasks=able, per_queue={QUEUE: 2})) == 2
    assert len(await claim(engine, tasks=able, limit=1)) == 1


async def test_a_claimed_parked_job_is_not_parked_any_more(engine, worker):
    job_id = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    job = await read(engine, job_id)
    assert (job.state, job.parked, held.attempt) == (State.ACTIVE, False, 1)
    assert await engine.parked() == []
    assert await settle(engine, held)


async def test_a_job_that_fits_neither_is_parked_again_for_the_next(engine, worker):
    job = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    await settle(engine, held, parked(misfit="v2"))
    assert await claim(engine, tasks={TASK: "v2"}) == []
    assert ids(await claim(engine, tasks={TASK: "v3"})) == [job]


async def test_a_job_that_fits_none_of_the_deployed_versions_stays_where_it_is(engine, worker):
    job = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    await settle(engine, held, parked(misfit=misfits(held.lane, "v2")))
    for version in ("v1", "v2"):
        assert await claim(engine, tasks={TASK: version}) == []
    assert ids(await claim(engine, tasks={TASK: "v"})) == [job]


async def test_a_parked_job_can_be_cancelled(engine, worker):
    job = await park(engine)
    assert await engine.cancel([job], "no") == [State.CANCELLED]
    assert await engine.parked() == []
    assert (await read(engine, job)).parked is False
    assert await claim(engine) == []


async def test_a_parked_job_expires(engine, worker, clock):
    job = await park(engine, new(expire_after=10))
    clock.advance(11)
    assert len(await engine.expire(10)) == 1
    assert await state(engine, job) is State.CANCELLED


async def test_a_parked_job_asked_to_stop_is_cancelled_instead(engine, worker):
    held = await take(engine)
    await engine.cancel([held.id], "no")
    assert await settle(engine, held, parked())
    assert await state(engine, held.id) is State.CANCELLED
    assert await engine.parked() == []


async def test_a_rescued_parked_job_can_still_be_claimed(engine, worker):
    job = await park(engine, misfit="v1")
    await claim(engine, tasks={TASK: "v2"})
    await engine.rescue_worker(WORKER, frozenset(), gone)
    await register(engine, "w2")
    assert ids(await claim(engine, worker="w2", tasks={TASK: "v2"})) == [job]


@pytest.mark.parametrize("outcome", [retried(), Released()], ids=["retried", "released"])
async def test_a_job_once_parked_that_runs_again_can_be_claimed_by_the_able(engine, worker, outcome):
    job = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    await settle(engine, held, outcome)
    assert ids(await claim(engine, tasks={TASK: "v2"})) == [job]


async def test_a_job_once_parked_and_recovered_starts_in_the_open_lane(engine, worker):
    job = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    await settle(engine, held, failed())
    heir = new().id
    await engine.recover([Recovery(job, heir)])
    found = await read(engine, heir)
    assert (found.lane, found.parked) == (QUEUE, False)


async def test_a_parked_delayed_job_is_told_when_it_waits(engine, worker, clock):
    job = await park(engine, misfit="v1")
    [held] = await claim(engine, tasks={TASK: "v2"})
    await settle(engine, held, retried(10))
    clock.advance(10)
    await engine.stage(10)
    assert ids(await claim(engine, tasks={TASK: "v2"})) == [job]


# -- the list ---------------------------------------------------------------------------------------


async def test_parked_lanes_are_listed_with_what_waits_there(engine, worker):
    await park(engine, reason="first", misfit="v1")
    await park(engine, reason="first", misfit="v1")
    await park(engine, new("mail", "app.send"), reason="no worker knows app.send")
    found = sorted(await engine.parked(), key=lambda p: p.queue)
    assert [(p.queue, p.task, p.reason, p.jobs) for p in found] == [
        (QUEUE, TASK, "first", 2),
        ("mail", "app.send", "no worker knows app.send", 1),
    ]
    assert all(isinstance(p, Parked) and is_parked(p.lane) for p in found)


async def test_an_empty_engine_has_nothing_parked(engine, worker):
    await put(engine)
    assert await engine.parked() == []


async def test_tidying_keeps_lanes_that_hold_jobs(engine, worker):
    job = await park(engine, misfit="v1")
    await engine.tidy()
    assert [p.jobs for p in await engine.parked()] == [1]
    assert ids(await claim(engine, tasks={TASK: "v2"})) == [job]
