"""claim_next: what there is is had as soon as it is there."""

import asyncio

import pytest

from conformance.kit import QUEUE, WORKER, claim, counts, ids, news, put, register, want
from penstock.model.errors import WorkerExpired
from penstock.model.states import State

PATIENCE = 20.0  # far above any poll interval, far below the test's own timeout


@pytest.fixture(name="engine", params=["injected clock", "own clock"])
async def engine_by_both_clocks(request, make_engine):
    """An engine may go another way where no clock is given: that is how it is used."""
    engine = await (make_engine() if request.param == "injected clock" else make_engine(clock=None))
    await register(engine)
    return engine


async def has_looked(engine):
    """A worker has looked in vain before it waits: only what comes after that is news."""
    assert await claim(engine) == []


async def brought(engine, *queues, **more):
    """What it brings; it may come back early with nothing, and then waits again."""
    while not (claims := (await engine.claim_next(want(*queues, **more), 600)).claims):
        pass
    return claims


async def test_it_brings_nothing_after_its_timeout(engine):
    await has_looked(engine)
    async with asyncio.timeout(PATIENCE):
        for seconds in (0.05, 0.05, 0):
            assert (await engine.claim_next(want(), seconds)).claims == []


async def test_it_brings_what_comes_while_it_waits(engine):
    await has_looked(engine)
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            waiting = asyncio.create_task(brought(engine))
            await asyncio.sleep(0)
            job_id = await put(engine)
            assert [held.id for held in await waiting] == [job_id]


async def test_it_brings_what_another_engine_puts_in(make_engine, engine):
    other = await make_engine(clock=None)
    await has_looked(engine)
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            waiting = asyncio.create_task(brought(engine, "other", QUEUE))
            await asyncio.sleep(0)
            job_id = await put(other)
            assert [held.id for held in await waiting] == [job_id]


async def test_it_brings_at_most_what_is_wanted_and_leaves_the_rest_to_be_had(engine):
    await has_looked(engine)
    waiting = asyncio.create_task(brought(engine, limit=2))
    await asyncio.sleep(0)
    jobs = news(5)
    await engine.enqueue(jobs)
    async with asyncio.timeout(PATIENCE):
        parts = [await waiting, await claim(engine, limit=2), await claim(engine, limit=2)]
    assert [len(part) for part in parts] == [2, 2, 1]
    assert [held.id for part in parts for held in part] == ids(jobs)


async def test_what_came_before_it_waits_is_brought(engine):
    await has_looked(engine)
    jobs = news(3)
    await engine.enqueue(jobs)
    async with asyncio.timeout(PATIENCE):
        assert ids(await brought(engine)) == ids(jobs)


async def test_of_two_who_wait_each_job_goes_to_one(make_engine, engine):
    other = await make_engine(clock=None)
    await register(other, "worker-2")
    jobs = news(40)
    held: list[list[str]] = [[], []]

    async def work(mine, worker, had):
        while sum(map(len, held)) < len(jobs):
            claimed = await mine.claim_next(want(worker=worker, limit=3), 0.2)
            had += ids(claimed.claims)

    async with asyncio.timeout(PATIENCE):
        working = asyncio.gather(work(engine, WORKER, held[0]), work(other, "worker-2", held[1]))
        for job in jobs:
            await other.enqueue([job])
        await working
    assert sorted(held[0] + held[1]) == sorted(ids(jobs))


async def test_two_may_wait_at_the_same_engine(engine):
    await register(engine, "worker-2")
    jobs = news(20)
    had: list[str] = []

    async def work(worker):
        while len(had) < len(jobs):
            had.extend(ids((await engine.claim_next(want(worker=worker, limit=1), 0.2)).claims))

    async with asyncio.timeout(PATIENCE):
        working = asyncio.gather(work(WORKER), work("worker-2"))
        for job in jobs:
            await engine.enqueue([job])
        await working
    assert sorted(had) == sorted(ids(jobs))


async def test_who_only_waits_beside_it_is_woken_too(engine):
    await has_looked(engine)
    claiming = asyncio.create_task(brought(engine, limit=1))
    await asyncio.sleep(0.01)
    waiting = asyncio.create_task(engine.wait([QUEUE], 600))
    await asyncio.sleep(0.01)
    await engine.enqueue(news(2))
    async with asyncio.timeout(PATIENCE):
        assert len(await claiming) == 1
        await waiting


async def test_one_that_is_cancelled_and_released_takes_nothing(engine):
    await has_looked(engine)
    for n in range(3):
        asked = want()
        waiting = asyncio.create_task(engine.claim_next(asked, 600))
        await asyncio.sleep(0.02 * n)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await engine.release(WORKER, asked.request)
    job_id = await put(engine)
    async with asyncio.timeout(PATIENCE):
        assert [held.id for held in await brought(engine)] == [job_id]


async def test_one_that_is_cancelled_as_work_comes_is_undone_by_its_release(engine):
    await has_looked(engine)
    asked = want()
    waiting = asyncio.create_task(engine.claim_next(asked, 600))
    await asyncio.sleep(0.02)
    job_id = await put(engine)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await engine.release(WORKER, asked.request)
    assert await counts(engine) == {State.WAITING: 1}
    assert [held.id for held in await claim(engine)] == [job_id]


async def test_one_that_nobody_waits_for_any_more_leaves_its_wake_up_to_others(make_engine, engine):
    there = await make_engine(clock=None)
    await register(there, "worker-2")
    await has_looked(engine)
    asked = want()
    gone = asyncio.create_task(engine.claim_next(asked, 600))
    await asyncio.sleep(0.05)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await engine.release(WORKER, asked.request)
    stays = asyncio.create_task(brought(there, worker="worker-2"))
    await asyncio.sleep(0.05)
    job_id = await put(engine)
    async with asyncio.timeout(PATIENCE):
        assert [held.id for held in await stays] == [job_id]


async def test_a_worker_that_is_not_alive_is_told_so(engine):
    with pytest.raises(WorkerExpired):
        await engine.claim_next(want(worker="nobody"), 0.05)
    await claim(engine)
    with pytest.raises(WorkerExpired):
        await engine.claim_next(want(worker="nobody"), 0.05)


async def test_a_queue_that_is_paused_meanwhile_gives_nothing(engine):
    await has_looked(engine)
    waiting = asyncio.create_task(engine.claim_next(want(), 0.3))
    await asyncio.sleep(0.02)
    await engine.set_paused(QUEUE, True)
    await put(engine)
    assert (await waiting).claims == []
    assert await counts(engine) == {State.WAITING: 1}


async def test_closing_the_engine_ends_it(engine):
    await has_looked(engine)
    waiting = asyncio.create_task(engine.claim_next(want(), 600))
    await asyncio.sleep(0.02)
    await engine.close()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(waiting, return_exceptions=True)


async def test_who_is_not_alive_any_more_takes_no_wake_up_from_the_living(make_engine):
    gone, there = await make_engine(clock=None), await make_engine(clock=None)
    await register(gone, ttl=0.3)
    await register(there, "worker-2")
    await has_looked(gone)
    first = asyncio.create_task(gone.claim_next(want(), 600))
    await asyncio.sleep(0.1)
    second = asyncio.create_task(brought(there, worker="worker-2"))
    await asyncio.sleep(0.4)
    job_id = await put(there)
    async with asyncio.timeout(PATIENCE):
        assert [held.id for held in await second] == [job_id]
        await asyncio.gather(first, return_exceptions=True)
