"""Rates and cooldowns: how many start in a time, by the engine's clock; and when it is worth asking again."""

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    claim,
    end,
    error,
    ids,
    news,
    parked,
    put,
    register,
    settle,
    take,
    want,
)
from penstock.engine import Claimed, Group, LimitState
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import NO_LIMIT, Limit
from penstock.model.outcome import Failed, Retried

GROUP = group_name(QUEUE, TASK)
ALL_KEYS = group_name(QUEUE)
TEN_A_SECOND = Limit(rate=10.0, burst=3)


def lane(key: str | None = None) -> str:
    return limited_lane(GROUP, key)


async def test_a_burst_starts_at_once_and_the_rest_by_the_rate(engine, worker, clock):
    await engine.put_groups([Group(GROUP, limit=TEN_A_SECOND)])
    await engine.enqueue(news(30, lane=lane()))
    assert len(await claim(engine)) == 3
    assert await claim(engine) == []
    clock.advance(0.1)
    assert len(await claim(engine)) == 1
    clock.advance(0.25)
    assert len(await claim(engine)) == 2
    clock.advance(5)
    assert len(await claim(engine)) == 3


async def test_over_a_second_no_more_start_than_the_rate_and_one_burst(engine, worker, clock):
    await engine.put_groups([Group(QUEUE, limit=Limit(rate=100.0, burst=10))])
    await engine.enqueue(news(500))
    starts = []
    for n in range(100):
        starts += [n * 0.03] * len(await claim(engine))
        clock.advance(0.03)
        if n % 10 == 0:
            await engine.beat(worker, 30)
    for start in starts:
        assert len([s for s in starts if start <= s < start + 1]) <= 110
    assert len(starts) >= 0.95 * 300


async def test_a_gap_is_kept_between_starts(engine, worker, clock):
    await engine.put_groups([Group(QUEUE, limit=Limit(rate=0.5, burst=1))])
    await engine.enqueue(news(3))
    assert len(await claim(engine)) == 1
    clock.advance(1.9)
    assert await claim(engine) == []
    clock.advance(0.1)
    assert len(await claim(engine)) == 1


async def test_each_key_has_a_rate_of_its_own(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(rate=1.0, burst=1))])
    await engine.enqueue(news(3, lane=lane("a")) + news(3, lane=lane("b")))
    assert sorted(h.lane for h in await claim(engine)) == [lane("a"), lane("b")]
    assert await claim(engine) == []
    clock.advance(1)
    assert sorted(h.lane for h in await claim(engine)) == [lane("a"), lane("b")]


async def test_tasks_of_a_queue_share_the_rate_of_a_key(engine, worker, clock):
    await engine.put_groups([Group(ALL_KEYS, per_key=Limit(rate=1.0, burst=1))])
    shared = limited_lane(ALL_KEYS, "openai")
    await engine.enqueue(news(1, lane=shared) + news(1, task="app.other", lane=shared))
    assert len(await claim(engine)) == 1
    assert await claim(engine) == []
    clock.advance(1)
    assert len(await claim(engine)) == 1


async def test_all_limits_of_a_job_must_let_it_start(engine, worker, clock):
    await engine.put_groups(
        [
            Group(QUEUE, limit=Limit(rate=1.0, burst=4)),
            Group(GROUP, limit=Limit(concurrency=3), per_key=Limit(rate=1.0, burst=2)),
        ]
    )
    await engine.enqueue(news(9, lane=lane("a")) + news(9, lane=lane("b")))
    held = await claim(engine)
    assert len(held) == 3
    assert max(sum(h.lane == lane(key) for h in held) for key in "ab") <= 2
    await engine.settle([end(h) for h in held])
    assert len(await claim(engine)) == 1


async def test_what_did_not_start_spends_nothing(engine, worker, clock):
    await engine.put_groups(
        [Group(QUEUE, limit=Limit(rate=0.01, burst=2)), Group(GROUP, limit=Limit(concurrency=1))]
    )
    await engine.enqueue(news(5, lane=lane()))
    [held] = await claim(engine)
    assert await claim(engine) == []
    await settle(engine, held)
    assert len(await claim(engine)) == 1


async def test_a_rate_is_not_given_back_by_a_refund(engine, worker, clock):
    await engine.put_groups([Group(GROUP, limit=Limit(rate=0.1, burst=1))])
    await put(engine, lane=lane())
    asked = want()
    assert len((await engine.claim(asked)).claims) == 1
    await engine.release(worker, asked.request)
    assert await claim(engine) == []
    clock.advance(10)
    assert len(await claim(engine)) == 1


async def test_a_claim_tells_when_it_is_worth_asking_again(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(rate=0.5, burst=1))])
    assert (await engine.claim(want())).next_in is None
    await engine.enqueue(news(2, lane=lane("a")))
    claimed = await engine.claim(want())
    assert len(claimed.claims) == 1
    claimed = await engine.claim(want())
    assert claimed.claims == []
    assert claimed.next_in == pytest.approx(2.0, abs=0.01)
    clock.advance(1.5)
    settled = await engine.settle([], want())
    assert settled.claims == []
    assert settled.next_in == pytest.approx(0.5, abs=0.01)


async def test_the_soonest_of_several_reasons_is_told(engine, worker, clock):
    await engine.put_groups(
        [Group(GROUP, per_key=Limit(rate=0.1, burst=1)), Group("other", limit=Limit(rate=0.5, burst=1))]
    )
    await engine.enqueue(news(2, lane=lane("a")) + news(2, queue="other"))
    await claim(engine, QUEUE, "other")
    assert (await engine.claim(want(QUEUE, "other"))).next_in == pytest.approx(2.0, abs=0.01)
    assert (await engine.claim(want(QUEUE))).next_in == pytest.approx(10.0, abs=0.01)


async def test_a_lane_that_only_waits_for_a_run_to_end_is_not_asked_for_again(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue(news(2, lane=lane("a")))
    await claim(engine)
    claimed = await engine.claim(want())
    assert (claimed.claims, claimed.next_in) == ([], None)


async def test_a_fast_rate_is_asked_for_a_few_at_a_time(engine, worker, clock):
    await engine.put_groups([Group(GROUP, limit=Limit(rate=100.0, burst=10))])
    await engine.enqueue(news(50, lane=lane()))
    assert len(await claim(engine)) == 10
    claimed = await engine.claim(want())
    assert claimed.next_in == pytest.approx(0.05, abs=0.001)
    clock.advance(0.05)
    assert len(await claim(engine)) == 5


def cooled(seconds: float) -> Retried:
    return Retried(seconds, error("slow down"), cooldown=seconds)


async def test_a_cooldown_holds_the_whole_key_and_no_other(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=5))])
    await engine.enqueue(news(1, lane=lane("a")))
    [held] = await claim(engine)
    await engine.enqueue(news(2, lane=lane("a")) + news(1, lane=lane("b")) + news(1))
    assert await settle(engine, held, cooled(30))
    assert sorted(h.lane for h in await claim(engine)) == [QUEUE, lane("b")]
    claimed = await engine.claim(want())
    assert (claimed.claims, claimed.next_in) == ([], pytest.approx(30.0, abs=0.01))
    await engine.beat(worker, 60)
    clock.advance(30)
    await engine.stage(10)
    assert len(await claim(engine)) == 3


async def test_a_cooldown_of_a_task_without_keys_holds_the_task(engine, worker, clock):
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=5))])
    await engine.enqueue(news(1, lane=lane()))
    [held] = await claim(engine)
    await engine.enqueue(news(1, lane=lane()))
    open_one = await put(engine)
    assert await settle(engine, held, cooled(5))
    assert ids(await claim(engine)) == [open_one]
    assert [found.cooled_for for found in await engine.groups()] == [pytest.approx(5.0, abs=0.01)]


async def test_a_cooldown_of_the_open_lane_holds_the_queue(engine, worker, clock):
    await put(engine)
    [held] = await claim(engine)
    await engine.enqueue(news(1) + news(1, lane=lane("a")) + news(1, queue="other"))
    assert await settle(engine, held, cooled(5))
    assert [h.queue for h in await claim(engine, QUEUE, "other")] == ["other"]
    assert (await engine.claim(want())).next_in == pytest.approx(5.0, abs=0.01)
    clock.advance(5)
    await engine.stage(10)
    assert len(await claim(engine)) == 3


async def test_a_shorter_cooldown_does_not_end_a_longer_one(engine, worker, clock):
    await engine.enqueue(news(2))
    first, second = await claim(engine)
    await settle(engine, first, cooled(20))
    await settle(engine, second, cooled(1))
    clock.advance(2)
    await put(engine)
    assert await claim(engine) == []


async def test_a_job_that_fails_for_good_cools_down_too(engine, worker, clock):
    await engine.enqueue(news(1))
    [held] = await claim(engine)
    await engine.enqueue(news(1))
    assert await settle(engine, held, Failed("exhausted", error("slow down"), cooldown=5))
    assert await claim(engine) == []


async def test_limits_outlive_the_engine_object(make_engine, clock):
    first = await make_engine()
    await register(first)
    await first.put_groups([Group(QUEUE, limit=Limit(rate=0.1, burst=1))])
    await first.enqueue(news(2))
    assert len(await claim(first)) == 1
    second = await make_engine()
    assert await claim(second) == []
    clock.advance(10)
    assert len(await claim(second)) == 1


async def test_a_closed_queue_is_worth_asking_again_by_whom_one_waits_there_for(engine, worker):
    await engine.put_groups([Group(QUEUE, Limit(rate=0.1))])
    assert await settle(engine, await take(engine), parked("app.other"))
    assert await engine.claim(want()) == Claimed([])
    knows = await engine.claim(want(tasks={"app.other": "v1"}))
    assert knows.claims == []
    assert knows.next_in == pytest.approx(10)


async def test_what_may_hold_a_lane_back_is_told_by_queue_group_and_key(engine, worker, clock):
    per_key, of_queue = Limit(0.5, 1, 2), Limit(concurrency=9)
    await engine.put_groups([Group(QUEUE, of_queue), Group(GROUP, per_key=per_key, needs=("sms",))])
    await engine.enqueue(news(2, lane=lane("a")))
    [held] = await claim(engine)
    clock.advance(0.5)
    assert await engine.limits_of(lane("a")) == [
        LimitState(QUEUE, of_queue, (), 1, None, None),
        LimitState(GROUP, NO_LIMIT, ("sms",), 1, None, None),
        LimitState(lane("a"), per_key, (), 1, None, pytest.approx(1.5)),
    ]
    assert await settle(engine, held, cooled(30))
    clock.advance(10)
    *_, of_key = await engine.limits_of(lane("a"))
    assert of_key == LimitState(lane("a"), per_key, (), 0, pytest.approx(20.0), None)
    assert [state.of for state in await engine.limits_of(QUEUE)] == [QUEUE]


async def test_a_queue_that_nobody_limits_is_told_of_while_it_cools_down(engine, worker, clock):
    await put(engine)
    assert await engine.limits_of(QUEUE) == []
    [held] = await claim(engine)
    assert await settle(engine, held, cooled(30))
    [cooling] = await engine.limits_of(QUEUE)
    assert (cooling.of, cooling.limit, cooling.cooled_for) == (QUEUE, NO_LIMIT, pytest.approx(30.0))
    clock.advance(31)
    assert await engine.limits_of(QUEUE) == []
