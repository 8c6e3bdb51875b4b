"""claim: first in rank, once each, only for the living."""

import asyncio

import pytest

from conformance.kit import (
    QUEUE,
    WORKER,
    claim,
    counts,
    end,
    gone,
    ids,
    new,
    news,
    put,
    read,
    register,
    retried,
    settle,
    want,
)
from penstock.model.errors import WorkerExpired
from penstock.model.outcome import Released
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State


async def test_a_claim_carries_all_the_worker_needs(engine, worker, clock):
    job = new(
        key="k", args='{"n":1}', priority=Priority.LOW, max_attempts=5, owner="u1", options='{"timeout":3}'
    )
    await engine.enqueue([job])
    created = clock.now()
    clock.advance(5)
    [held] = await claim(engine)
    assert (held.id, held.queue, held.task, held.lane) == (job.id, QUEUE, job.task, QUEUE)
    assert (held.args, held.options, held.key, held.owner) == ('{"n":1}', '{"timeout":3}', "k", "u1")
    assert (held.attempt, held.max_attempts, held.priority) == (1, 5, Priority.LOW)
    assert (held.suspect, held.crashes) == (False, 0)
    assert (held.created_at, held.due_at) == (created, created)


async def test_a_claimed_job_is_active_in_the_workers_hand(engine, worker, clock):
    await put(engine)
    clock.advance(5)
    [held] = await claim(engine)
    job = await read(engine, held.id)
    assert (job.state, job.attempt, job.worker) == (State.ACTIVE, 1, worker)
    assert job.started_at == job.claimed_at == clock.now()
    assert await counts(engine) == {State.ACTIVE: 1}


async def test_the_first_start_is_kept_and_the_latest_claim_is_told(engine, worker, clock):
    await put(engine)
    first = clock.now()
    [held] = await claim(engine)
    await settle(engine, held, retried())
    clock.advance(5)
    [held] = await claim(engine)
    job = await read(engine, held.id)
    assert (job.started_at, job.claimed_at) == (first, clock.now())


async def test_nothing_waiting_is_nothing_claimed(engine, worker):
    assert await claim(engine) == []
    assert await claim(engine, "no-such-queue") == []


async def test_a_job_is_claimed_once(engine, worker):
    jobs = news(10)
    await engine.enqueue(jobs)
    assert ids(await claim(engine)) == ids(jobs)
    assert await claim(engine) == []


async def test_every_claim_has_a_token_of_its_own(engine, worker):
    await engine.enqueue(news(20))
    held = await claim(engine)
    tokens = {h.token for h in held}
    assert len(tokens) == 20
    await engine.settle([end(h, Released()) for h in held])
    assert tokens.isdisjoint(h.token for h in await claim(engine))


async def test_attempts_are_counted_at_claim(engine, worker):
    await put(engine)
    for attempt in (1, 2, 3):
        [held] = await claim(engine)
        assert held.attempt == attempt
        assert (await read(engine, held.id)).attempt == attempt
        await settle(engine, held, retried())


# -- order ------------------------------------------------------------------------------------------


async def test_jobs_of_one_priority_come_first_in_first_out(engine, worker, clock):
    jobs = []
    for _ in range(5):
        jobs += news(5)
        await engine.enqueue(jobs[-5:])
        clock.advance(1)
    assert ids(await claim(engine, limit=7)) == ids(jobs[:7])
    assert ids(await claim(engine)) == ids(jobs[7:])


async def test_equal_ranks_go_by_id_in_whatever_order_they_came(engine, worker):
    jobs = news(10)
    await engine.enqueue(jobs[5:])
    await engine.enqueue(jobs[:5][::-1])
    assert ids(await claim(engine)) == ids(jobs)


async def test_jobs_due_together_come_in_priority_order(engine, worker):
    jobs = [new(priority=p) for p in (4, 3, 2, 1, 4, 3, 2, 1)]
    await engine.enqueue(jobs)
    expected = sorted(jobs, key=lambda j: (j.priority, j.id))
    assert ids(await claim(engine)) == ids(expected)


@pytest.mark.parametrize(("first", "second"), [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)])
async def test_a_priority_is_a_head_start_and_no_more(engine, clock, first, second):
    await register(engine, ttl=10_000)
    lead = HEAD_START[Priority(first)] - HEAD_START[Priority(second)]
    slow = await put(engine, priority=second)
    clock.advance(lead - 1)
    before = await put(engine, priority=first)
    clock.advance(2)
    after = await put(engine, priority=first)
    assert ids(await claim(engine)) == [before, slow, after]


async def test_a_delayed_job_is_ranked_by_its_due_time(engine, worker, clock):
    delayed = await put(engine, delay=10)
    clock.advance(5)
    early = await put(engine)
    clock.advance(10)
    late = await put(engine)
    await engine.stage(10)
    assert ids(await claim(engine)) == [early, delayed, late]


async def test_a_retried_job_is_ranked_by_its_new_due_time(engine, worker, clock):
    first = await put(engine)
    [held] = await claim(engine)
    clock.advance(5)
    second = await put(engine)
    clock.advance(5)
    await settle(engine, held, retried())
    assert ids(await claim(engine)) == [second, first]


# -- bounds -----------------------------------------------------------------------------------------


async def test_delayed_jobs_are_not_claimed_before_their_time(engine, worker, clock):
    await put(engine, delay=10)
    clock.advance(9)
    await engine.stage(10)
    assert await claim(engine) == []


async def test_the_limit_bounds_all_queues_together(engine, worker):
    await engine.enqueue(news(10, "a") + news(10, "b"))
    assert len(await claim(engine, "a", "b", limit=12)) == 12
    assert len(await claim(engine, "a", "b", limit=12)) == 8


async def test_each_queue_has_a_limit_of_its_own(engine, worker):
    await engine.enqueue(news(10, "a") + news(10, "b") + news(10, "c"))
    held = await claim(engine, per_queue={"a": 3, "b": 1, "c": 0})
    assert sorted(h.queue for h in held) == ["a", "a", "a", "b"]


async def test_a_queue_that_is_not_wanted_is_not_touched(engine, worker):
    await put(engine, "other")
    assert await claim(engine) == []
    assert await counts(engine, "other") == {State.WAITING: 1}


async def test_a_full_queue_does_not_starve_another(engine, worker):
    await engine.enqueue(news(100, "busy"))
    await put(engine, "quiet")
    held = await claim(engine, per_queue={"busy": 5, "quiet": 5})
    assert sorted(h.queue for h in held) == ["busy"] * 5 + ["quiet"]


@pytest.mark.parametrize("asked", [{"limit": 0}, {"per_queue": {}}, {"per_queue": {QUEUE: 0}}])
async def test_asking_for_nothing_takes_nothing(engine, worker, asked):
    await put(engine)
    assert await claim(engine, **asked) == []


async def test_an_open_lane_gives_jobs_of_any_task(engine, worker):
    job = await put(engine, task="app.unheard-of")
    assert ids(await claim(engine, tasks={})) == [job]


# -- the living -------------------------------------------------------------------------------------


async def test_a_worker_that_never_registered_cannot_claim(engine):
    job = await put(engine)
    with pytest.raises(WorkerExpired):
        await claim(engine)
    assert (await read(engine, job)).attempt == 0


async def test_a_worker_that_passed_its_time_cannot_claim_even_before_a_rescue(engine, worker, clock):
    job = await put(engine)
    clock.advance(31)
    with pytest.raises(WorkerExpired):
        await claim(engine)
    assert (await read(engine, job)).state is State.WAITING


async def test_a_worker_taken_by_a_rescue_cannot_claim(engine, worker, clock):
    await put(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    with pytest.raises(WorkerExpired):
        await claim(engine)


async def test_an_expired_worker_that_asks_for_nothing_is_told_too(engine, worker, clock):
    clock.advance(31)
    with pytest.raises(WorkerExpired):
        await claim(engine, limit=0)


async def test_many_workers_get_each_job_once(make_engine):
    engines = [await make_engine() for _ in range(3)]
    for n, engine in enumerate(engines):
        await register(engine, f"w{n}")
    jobs = news(300)
    await engines[0].enqueue(jobs)

    async def drain(n: int) -> list[str]:
        taken: list[str] = []
        while held := (await engines[n].claim(want(worker=f"w{n}", limit=7))).claims:
            taken += ids(held)
        return taken

    taken = await asyncio.gather(*(drain(n) for n in range(3)))
    assert sorted(job for some in taken for job in some) == ids(jobs)


async def test_concurrent_claims_on_one_engine_get_each_job_once(engine, worker):
    jobs = news(100)
    await engine.enqueue(jobs)
    answers = await asyncio.gather(*(claim(engine, limit=7) for _ in range(20)))
    assert sorted(h.id for held in answers for h in held) == ids(jobs)


async def test_a_claim_that_nobody_waits_for_is_never_half_done(engine, worker):
    jobs = news(50)
    await engine.enqueue(jobs)
    asked = want()
    call = asyncio.create_task(engine.claim(asked))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await engine.release(WORKER, asked.request)
    assert ids(await claim(engine)) == ids(jobs)
