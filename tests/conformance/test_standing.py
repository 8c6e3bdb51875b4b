"""Where a job stands in its lane, and what has waited longest in a queue."""

from __future__ import annotations

from datetime import datetime, timedelta

from conformance.kit import (
    QUEUE,
    blocked,
    claim,
    end,
    ids,
    make_id,
    new,
    news,
    parked,
    put,
    retried,
    settle,
    take,
)
from penstock.engine import Engine, Group, Standing
from penstock.model.limits import Limit


async def oldest(engine: Engine, queue: str = QUEUE) -> datetime | None:
    return {found.queue: found.oldest_at for found in await engine.queues()}[queue]


# -- standing ------------------------------------------------------------------------------------------------


async def test_a_job_stands_behind_those_that_are_claimed_before_it(engine, worker):
    jobs = [new(), new(), new(priority=1), new(priority=4), new(priority=2)]
    await engine.enqueue(jobs)
    await engine.enqueue(news(3, "other"))
    standings = {job.id: await engine.standing(job.id, 100) for job in jobs}
    assert ids(await claim(engine)) == sorted(standings, key=lambda job: standings[job].ahead)
    assert sorted(standings.values()) == [Standing(n, False) for n in range(5)]


async def test_it_moves_up_as_others_are_claimed(engine, worker):
    jobs = news(3)
    await engine.enqueue(jobs)
    assert await engine.standing(jobs[2].id, 10) == Standing(2, False)
    [first] = await claim(engine, limit=1)
    assert await engine.standing(jobs[2].id, 10) == Standing(1, False)
    assert await engine.standing(first.id, 10) is None
    await settle(engine, first, retried())
    assert await engine.standing(first.id, 10) is not None


async def test_no_more_are_counted_than_were_asked_for(engine):
    jobs = news(20)
    await engine.enqueue(jobs)
    assert await engine.standing(jobs[-1].id, 18) == Standing(18, True)
    assert await engine.standing(jobs[-1].id, 19) == Standing(19, False)
    assert await engine.standing(jobs[-1].id, 0) == Standing(0, True)
    assert await engine.standing(jobs[0].id, 0) == Standing(0, False)


async def test_only_its_own_lane_counts(engine):
    await engine.enqueue(news(5))
    await engine.enqueue(news(2, lane=f"{QUEUE}>task>one"))
    mine = await put(engine, lane=f"{QUEUE}>task>one")
    assert await engine.standing(mine, 10) == Standing(2, False)


async def test_what_has_passed_its_expiry_is_not_claimed_and_does_not_count(engine, clock):
    await engine.enqueue(news(2, expire_after=5))
    await put(engine, expire_after=50)
    mine = await put(engine)
    assert await engine.standing(mine, 10) == Standing(3, False)
    clock.advance(5)
    assert await engine.standing(mine, 10) == Standing(1, False)


async def test_what_does_not_wait_stands_nowhere(engine, worker):
    done = await take(engine)
    assert await engine.standing(done.id, 10) is None
    await settle(engine, done)
    delayed = await put(engine, delay=60)
    upstream = await put(engine)
    behind = await blocked(engine, upstream)
    for job in (done.id, delayed, behind, make_id(), "no-id"):
        assert await engine.standing(job, 10) is None
    await engine.promote([delayed])
    assert await engine.standing(delayed, 10) is not None


# -- what has waited longest ---------------------------------------------------------------------------------


async def test_a_queue_tells_since_when_its_oldest_job_is_due(engine, worker, clock):
    first = clock.now()
    await put(engine)
    clock.advance(10)
    await put(engine)
    await put(engine, "other")
    assert await oldest(engine) == first
    assert await oldest(engine, "other") == first + timedelta(seconds=10)
    await claim(engine, limit=1)
    assert await oldest(engine) == first + timedelta(seconds=10)
    [held] = await claim(engine, limit=1)
    assert await oldest(engine) is None
    clock.advance(10)
    await settle(engine, held, retried())
    assert await oldest(engine) == clock.now()


async def test_a_delayed_job_waits_from_when_it_is_due(engine, clock):
    start = clock.now()
    await put(engine, delay=60)
    assert await oldest(engine) is None
    clock.advance(100)
    await engine.stage(10)
    assert await oldest(engine) == start + timedelta(seconds=60)


async def test_a_priority_changes_the_turn_and_not_since_when_it_waits(engine, clock):
    start = clock.now()
    await put(engine, priority=1)
    assert await oldest(engine) == start


async def test_jobs_under_limits_count_also_where_nobody_has_looked_at_them_yet(engine, worker, clock):
    start = clock.now()
    await engine.put_groups([Group(f"{QUEUE}>task", per_key=Limit(concurrency=1))])
    await engine.enqueue(news(2, lane=f"{QUEUE}>task>b"))
    clock.advance(10)
    await put(engine)
    await put(engine, lane=f"{QUEUE}>task>a")
    assert await oldest(engine) == start
    held = await claim(engine)
    assert await oldest(engine) == start  # the second of one key, which must wait for the first
    await engine.settle([end(h) for h in held])
    await claim(engine)
    assert await oldest(engine) is None


async def test_what_is_parked_or_past_its_expiry_does_not_count(engine, worker, clock):
    await settle(engine, await take(engine), parked())
    assert await oldest(engine) is None
    await engine.enqueue(news(10, expire_after=5))
    clock.advance(5)
    await put(engine)
    assert await oldest(engine) == clock.now()
