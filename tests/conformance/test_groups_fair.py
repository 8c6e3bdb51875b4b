"""Fairness: lanes take turns, priorities hold between them, and nobody's backlog stops the others."""

from collections import Counter

from conformance.kit import QUEUE, TASK, claim, end, ids, new, news, register, want
from penstock.engine import Group
from penstock.model.lanes import OLDEST_TURN, TURN_COST, group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.priority import Priority

GROUP = group_name(QUEUE, TASK)


def lane(key: str) -> str:
    return limited_lane(GROUP, key)


async def take_all(engine, limit: int) -> list[str]:
    """The lanes of everything there is, in the order in which it is claimed and ended."""
    order: list[str] = []
    ends = []
    while held := (await engine.settle(ends, want(limit=limit))).claims:
        order += [h.lane for h in held]
        ends = [end(h) for h in held]
    await engine.settle(ends)
    return order


async def test_a_small_lane_is_served_long_before_a_large_one_is_empty(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue(news(500, lane=lane("large")))
    clock.advance(20)
    await engine.enqueue(news(5, lane=lane("small")))
    order = await take_all(engine, 5)
    assert len(order) == 505
    last = max(n for n, name in enumerate(order) if name == lane("small"))
    assert last <= 20 / TURN_COST + 2 * 5 + 5


async def test_lanes_that_came_together_share_evenly(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue([new(lane=lane(key)) for key in "aaaaaaaaaabbbbbbbbbbcccccccccc"])
    held = await claim(engine, limit=9)
    assert Counter(h.lane for h in held) == {lane("a"): 3, lane("b"): 3, lane("c"): 3}
    held += await claim(engine, limit=9)
    assert Counter(h.lane for h in held) == {lane("a"): 6, lane("b"): 6, lane("c"): 6}


async def test_a_claim_is_filled_though_the_lanes_are_uneven(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue(news(60, lane=lane("a")) + [new(lane=lane(f"k{n}")) for n in range(9)])
    held = await claim(engine, limit=50)
    assert len(held) == 50
    assert len({h.lane for h in held}) == 10


async def test_priorities_hold_between_lanes(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=5))])
    low = [new(lane=lane(f"k{n}"), priority=Priority.LOW) for n in range(50)]
    await engine.enqueue(low)
    critical = new(lane=lane("late"), priority=Priority.CRITICAL)
    await engine.enqueue([critical])
    assert ids(await claim(engine, limit=1)) == [critical.id]


async def test_priorities_hold_inside_a_lane(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    jobs = [new(lane=lane("a"), priority=p) for p in (4, 3, 2, 1)]
    await engine.enqueue(jobs)
    assert ids(await claim(engine)) == [jobs[3].id]


async def test_the_open_lane_and_limited_ones_take_turns(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue(news(100, lane=lane("a")))
    await engine.beat(worker, 60)
    clock.advance(3 * TURN_COST)
    opened = news(10)
    await engine.enqueue(opened)
    held = await claim(engine, limit=14)
    assert Counter(h.lane for h in held) == {QUEUE: 10, lane("a"): 4}


async def test_old_age_beyond_a_bound_gains_a_lane_nothing(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1_000))])
    await engine.enqueue(news(300, lane=lane("old")))
    clock.advance(50 * OLDEST_TURN)
    await engine.enqueue(news(1, lane=lane("new")))
    await register(engine, "w2")
    held = await claim(engine, worker="w2", limit=int(OLDEST_TURN / TURN_COST) + 2)
    assert lane("new") in {h.lane for h in held}


async def test_what_a_lane_owes_is_worked_off_as_time_passes(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue(news(20, lane=lane("a")))
    await engine.settle([end(h) for h in await claim(engine, limit=2)])
    clock.advance(2 * TURN_COST)
    await engine.enqueue(news(1, lane=lane("b")))
    [first] = await claim(engine, limit=1)
    assert first.lane == lane("a")


async def test_the_first_in_rank_of_many_thousand_lanes_is_found(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue([new(lane=lane(f"k{n}")) for n in range(3_000)])
    clock.advance(1)
    first = new(lane=lane("first"), priority=Priority.CRITICAL)
    await engine.enqueue([first])
    assert ids(await claim(engine, limit=1)) == [first.id]


async def _ran_alone(engine, jobs: int) -> None:
    """Lane a had so many jobs, when nobody else wanted anything, and never one that waited."""
    for _ in range(jobs // 5):
        await engine.enqueue(news(5, lane=lane("a")))
        await engine.settle([end(h) for h in await claim(engine, limit=5)])


async def _place_of(engine, job_id: str) -> int:
    """As which of all that wait a job is claimed."""
    place, ends = 0, []
    while held := (await engine.settle(ends, want(limit=1))).claims:
        place += 1
        if held[0].id == job_id:
            return place
        ends = [end(h) for h in held]
    raise AssertionError("it never was")


async def test_what_a_lane_had_when_nobody_else_wanted_anything_is_not_held_against_it(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await _ran_alone(engine, 500)
    await engine.enqueue(news(300, lane=lane("b")))
    clock.advance(1)
    job = new(lane=lane("a"))
    await engine.enqueue([job])
    assert await _place_of(engine, job.id) <= 5 + 2


async def test_the_open_lane_does_not_stop_a_lane_that_had_much(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await _ran_alone(engine, 500)
    job = new(lane=lane("a"))
    await engine.enqueue([job])
    clock.advance(1)
    await engine.enqueue(news(300))
    assert await _place_of(engine, job.id) == 1


async def test_a_newcomers_backlog_does_not_stop_a_lane_that_has_long_had_one(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=100))])
    await engine.enqueue(news(400, lane=lane("a")))
    for _ in range(40):
        await engine.settle([end(h) for h in await claim(engine, limit=5)])
    await engine.enqueue(news(100, lane=lane("b")))
    order = (await take_all(engine, 5))[:100]
    assert min(Counter(order).values()) >= 40
