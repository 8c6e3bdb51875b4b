"""Groups and limited lanes: how many run at once, over all workers; what cannot start is in nobody's way."""

import asyncio

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    Witness,
    claim,
    counts,
    end,
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
    snoozed,
    state,
    want,
)
from penstock.engine import DECLARED_FOR, Group, GroupState, LaneState
from penstock.model.breaker import Breaker
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.outcome import Cancelled, Released
from penstock.model.states import State

GROUP = group_name(QUEUE, TASK)
TWO = Limit(concurrency=2)
ENDS = (retried(), retried(60), snoozed(60), Released(), Cancelled("no"), failed())


def lane(key: str | None = None, group: str = GROUP) -> str:
    return limited_lane(group, key)


async def test_a_lane_without_declared_limits_is_like_any_other(engine, worker):
    jobs = [new(lane=lane("a")), new(lane=lane("b")), new(lane=lane()), new()]
    await engine.enqueue(jobs)
    held = await claim(engine)
    assert sorted(ids(held)) == ids(jobs)
    assert {h.id: h.lane for h in held} == {job.id: job.lane or QUEUE for job in jobs}


async def test_no_more_of_a_key_run_at_once_than_its_limit(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=TWO)])
    await engine.enqueue(news(5, lane=lane("a")) + news(5, lane=lane("b")))
    held = await claim(engine)
    assert sorted(h.lane for h in held) == [lane("a")] * 2 + [lane("b")] * 2
    assert await claim(engine) == []
    assert await settle(engine, next(h for h in held if h.lane == lane("b")))
    assert [h.lane for h in await claim(engine)] == [lane("b")]


async def test_no_more_of_a_group_run_at_once_than_its_limit(engine, worker):
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=3), per_key=TWO)])
    await engine.enqueue([new(lane=lane(key)) for key in "aabbcc"])
    held = await claim(engine)
    assert len(held) == 3
    assert await claim(engine) == []
    await engine.settle([end(h) for h in held])
    assert len(await claim(engine)) == 3


async def test_no_more_of_a_queue_run_at_once_than_its_limit(engine, worker):
    await engine.put_groups([Group(QUEUE, limit=TWO)])
    await engine.enqueue([new(), new(lane=lane()), new(), new(lane=lane("a"))])
    await engine.enqueue(news(1, queue="other"))
    held = await claim(engine)
    assert len(held) == 2
    assert await claim(engine) == []
    assert len(await claim(engine, "other")) == 1
    settled = await engine.settle([end(held[0])], want())
    assert len(settled.claims) == 1


async def test_settle_sees_the_places_its_own_ends_have_freed(engine, worker):
    await engine.put_groups([Group(GROUP, limit=TWO)])
    await engine.enqueue(news(4, lane=lane()))
    held = await claim(engine)
    settled = await engine.settle([end(h) for h in held], want())
    assert len(settled.claims) == 2


@pytest.mark.parametrize("outcome", ENDS, ids=lambda o: f"{o.verb}-{o.state}")
async def test_every_end_of_a_run_frees_its_place(engine, worker, outcome):
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=1), per_key=Limit(concurrency=1))])
    first, second = new(lane=lane("a"), priority=1), new(lane=lane("a"), priority=4)
    await engine.enqueue([first, second])
    [held] = await claim(engine)
    assert held.id == first.id
    assert await settle(engine, held, outcome)
    assert len(await claim(engine)) == 1
    assert await claim(engine) == []


async def test_a_rescue_frees_the_places_of_a_lost_worker(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=TWO)])
    jobs = news(2, lane=lane("a"))
    await engine.enqueue(jobs)
    assert len(await claim(engine)) == 2
    await engine.rescue_worker(WORKER, frozenset(), Witness())
    await register(engine, "w2")
    assert sorted(ids(await claim(engine, worker="w2"))) == ids(jobs)
    clock.advance(31)
    await register(engine, "w3")
    assert await claim(engine, worker="w3") == []
    await engine.rescue(10, gone)
    assert len(await claim(engine, worker="w3")) == 2


async def test_a_claim_that_was_not_received_frees_its_places(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=TWO)])
    await engine.enqueue(news(2, lane=lane("a")))
    asked = want()
    assert len((await engine.claim(asked)).claims) == 2
    assert await engine.release(WORKER, asked.request) == 2
    assert len(await claim(engine)) == 2


async def test_a_refused_settlement_frees_nothing(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue(news(2, lane=lane("a")))
    [held] = await claim(engine)
    assert not await settle(engine, held._replace(token="00000000-0000-4000-8000-000000000000"))
    assert await claim(engine) == []


async def test_full_lanes_do_not_block_what_stands_behind_them(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue(news(200, lane=lane("big")))
    clock.advance(1)
    small = [new(lane=lane("small")), new()]
    await engine.enqueue(small)
    held = await claim(engine, limit=3)
    assert sorted(h.lane for h in held) == sorted([lane("big"), lane("small"), QUEUE])


async def test_what_was_enqueued_after_a_lane_was_full_runs_when_a_place_is_free(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await put(engine, lane=lane("a"))
    [held] = await claim(engine)
    later = await put(engine, lane=lane("a"))
    assert await claim(engine) == []
    assert await settle(engine, held)
    assert ids(await claim(engine)) == [later]


async def test_delayed_and_parked_jobs_come_back_under_their_limits(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue([new(lane=lane("a"), delay=10), new(lane=lane("a"), delay=10)])
    clock.advance(11)
    await engine.stage(10)
    assert len(await claim(engine)) == 1
    assert await claim(engine) == []


async def test_nothing_is_claimed_ahead_from_where_there_are_limits(engine, worker):
    await engine.put_groups(
        [Group(GROUP, per_key=Limit(concurrency=9)), Group("other", limit=Limit(concurrency=9))]
    )
    await engine.enqueue(news(3, lane=lane("a")) + news(3) + news(3, queue="other"))
    held = await claim(engine, QUEUE, "other", limit=6, free=2)
    limited = [h for h in held if h.lane != QUEUE]
    assert len(limited) == 2
    assert len(held) == 5


async def test_raising_a_limit_lets_more_start(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue(news(5, lane=lane("a")))
    assert len(await claim(engine)) == 1
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=3))])
    assert len(await claim(engine)) == 2
    assert await claim(engine) == []


async def test_lowering_a_limit_holds_until_enough_have_ended(engine, worker):
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=3))])
    await engine.enqueue(news(6, lane=lane()))
    held = await claim(engine)
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=1))])
    await engine.settle([end(h) for h in held[:2]])
    assert await claim(engine) == []
    await settle(engine, held[2])
    assert len(await claim(engine)) == 1


async def test_taking_a_limit_away_lets_everything_start(engine, worker):
    await engine.put_groups([Group(GROUP, limit=TWO)])
    await engine.enqueue(news(6, lane=lane("a")))
    assert len(await claim(engine)) == 2
    await engine.put_groups([Group(GROUP)])
    assert len(await claim(engine)) == 4


async def test_a_limit_declared_while_jobs_run_counts_them_once_tidied(engine, worker):
    await engine.enqueue(news(5, lane=lane("a")))
    assert len(await claim(engine, limit=2)) == 2
    await engine.put_groups([Group(GROUP, limit=TWO, per_key=TWO)])
    await engine.tidy()
    assert await claim(engine) == []


async def test_a_queues_limit_declared_while_jobs_run_counts_them_once_tidied(engine, worker):
    await engine.enqueue(news(5))
    held = await claim(engine, limit=2)
    await engine.put_groups([Group(QUEUE, limit=TWO)])
    await engine.tidy()
    assert await claim(engine) == []
    await settle(engine, held[0])
    assert len(await claim(engine)) == 1


async def test_a_job_found_in_the_wrong_lane_is_moved_to_its_own(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    first, second = await put(engine), await put(engine)
    held = await claim(engine)
    ends = [end(h, Released(lane=lane("a"))) for h in held]
    assert (await engine.settle(ends)).accepted == [True, True]
    for job_id in (first, second):
        job = await read(engine, job_id)
        assert (job.state, job.lane, job.attempt, job.parked) == (State.WAITING, lane("a"), 0, False)
    assert ids(await claim(engine)) == [first]
    assert await claim(engine) == []


async def test_a_paused_queue_stops_its_limited_lanes_too(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=TWO)])
    await put(engine, lane=lane("a"))
    await engine.set_paused(QUEUE, True)
    assert await claim(engine) == []
    await engine.set_paused(QUEUE, False)
    assert len(await claim(engine)) == 1


async def test_a_cancelled_job_in_a_limited_lane_holds_no_place(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    waiting, held_id = await put(engine, lane=lane("a")), await put(engine, lane=lane("a"))
    assert await engine.cancel([waiting], "no") == [State.CANCELLED]
    assert ids(await claim(engine)) == [held_id]
    assert await state(engine, waiting) is State.CANCELLED


async def test_an_expired_job_in_a_limited_lane_does_not_start(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    late = await put(engine, lane=lane("a"), expire_after=5)
    clock.advance(6)
    fresh = await put(engine, lane=lane("a"))
    assert ids(await claim(engine)) == [fresh]
    await engine.expire(10)
    assert await state(engine, late) is State.CANCELLED


async def test_a_parked_job_counts_against_the_limit_of_its_queue_alone(engine, worker):
    await engine.put_groups([Group(QUEUE, limit=Limit(concurrency=1))])
    job = await put(engine)
    [held] = await claim(engine)
    assert await settle(engine, held, parked(misfit="v0"))
    assert ids(await claim(engine)) == [job]
    await put(engine)
    assert await claim(engine) == []


async def test_counts_do_not_know_lanes(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=TWO)])
    await engine.enqueue(news(5, lane=lane("a")) + news(1, lane=lane("b"), delay=5))
    await claim(engine)
    assert await counts(engine) == {State.WAITING: 3, State.ACTIVE: 2, State.DELAYED: 1}


async def test_keys_may_hold_anything(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    keys = ["a?b", "a>b", "100%", "%3F", "ä\n€", "*", "\\", "'"]
    await engine.enqueue([new(lane=lane(key)) for key in keys for _ in range(2)])
    held = await claim(engine)
    assert sorted(h.lane for h in held) == sorted(lane(key) for key in keys)
    assert [(await read(engine, h.id)).parked for h in held] == [False] * len(keys)


async def test_groups_tell_what_runs_under_them(engine, worker):
    declared = [
        Group(QUEUE, limit=Limit(rate=5.0, burst=2, concurrency=7)),
        Group(GROUP, limit=TWO, per_key=Limit(0.5, 1, 3, "1/2s"), needs=("mail", "sms")),
        Group(group_name(QUEUE, "plain"), limit=Limit(1.0, said="60/m")),
    ]
    await engine.put_groups(declared)
    await engine.put_groups([declared[0]])
    await engine.enqueue(news(1, lane=lane("a")) + news(1))
    await claim(engine)
    active = (2, 1, 0)
    assert await engine.groups() == [GroupState(*each, None) for each in zip(declared, active, strict=True)]


async def test_lanes_are_listed_by_name_with_what_waits_and_runs(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue([new(lane=lane(key)) for key in ("b", "a", "a", "c")])
    await claim(engine, limit=2)
    listed = await engine.lanes(GROUP, 10)
    assert [(found.lane, found.waiting + found.active) for found in listed] == [
        (lane("a"), 2),
        (lane("b"), 1),
        (lane("c"), 1),
    ]
    assert LaneState(lane("a"), 1, 1, None) in listed
    assert await engine.lanes(GROUP, 1, after=lane("a")) == listed[1:2]
    assert await engine.lanes("other>task", 10) == []


async def test_lanes_that_are_empty_and_worked_off_are_dropped(engine, worker, clock):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue([new(lane=lane(f"k{n}")) for n in range(20)])
    await engine.settle([end(h) for h in await claim(engine)])
    clock.advance(3_600)
    await engine.tidy()
    assert await engine.lanes(GROUP, 100) == []


async def test_a_place_that_becomes_free_wakes_who_waits_for_it(engine, worker):
    await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=1))])
    await engine.enqueue(news(2, lane=lane("a")))
    [held] = await claim(engine)
    assert await claim(engine) == []
    while True:  # wake-ups of what came before may still be on their way
        try:
            async with asyncio.timeout(0.2):
                await engine.wait([QUEUE], 30)
        except TimeoutError:
            break
        assert await claim(engine) == []
    waiting = asyncio.create_task(engine.wait([QUEUE], 30))
    await asyncio.sleep(0.05)
    assert await settle(engine, held)
    async with asyncio.timeout(5):
        await waiting
    assert len(await claim(engine)) == 1


async def test_a_limit_holds_over_several_engines_at_once(make_engine):
    engines = [await make_engine(clock=None) for _ in range(4)]
    for n, engine in enumerate(engines):
        await register(engine, f"w{n}")
    await engines[0].put_groups([Group(GROUP, limit=Limit(concurrency=12), per_key=TWO)])
    jobs = [new(lane=lane(f"k{n % 10}")) for n in range(200)]
    await engines[0].enqueue(jobs)
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    done: list[str] = []

    async def work(n: int) -> None:
        engine, idle = engines[n], 0
        while len(done) < len(jobs) and idle < 200:
            held = (await engine.claim(want(worker=f"w{n}", limit=5))).claims
            idle = 0 if held else idle + 1
            for h in held:
                for name in (h.lane, GROUP):
                    running[name] = running.get(name, 0) + 1
                    most[name] = max(most.get(name, 0), running[name])
            await asyncio.sleep(0.001)
            for h in held:
                for name in (h.lane, GROUP):
                    running[name] -= 1
            if held:
                assert all((await engine.settle([end(h) for h in held])).accepted)
                done.extend(ids(held))

    await asyncio.gather(*(work(n) for n in range(len(engines))))
    assert sorted(done) == ids(jobs)
    assert most.pop(GROUP) <= 12
    assert max(most.values()) <= 2


# -- what nobody declares any more --------------------------------------------------------------------


async def test_a_group_that_bounds_nothing_is_not_listed_and_the_rest_is_kept(engine, worker):
    await engine.put_groups([Group(GROUP, limit=TWO), Group(QUEUE, limit=TWO)])
    await engine.put_groups([Group(GROUP)])
    assert [state.group.name for state in await engine.groups()] == [QUEUE]
    await engine.tidy()
    assert [state.group.name for state in await engine.groups()] == [QUEUE]


async def test_what_nobody_declares_any_more_is_let_go_of(engine, worker, clock):
    await engine.put_breakers([Breaker(name="mail"), Breaker(name="sms")])
    kept = Group(group_name(QUEUE, "kept"), limit=TWO, needs=("sms",))
    await engine.put_groups([Group(QUEUE, limit=TWO), Group(GROUP, limit=TWO, needs=("mail",)), kept])
    clock.advance(DECLARED_FOR / 2)
    await engine.tidy()
    assert len(await engine.groups()) == 3
    await engine.put_groups([kept])
    clock.advance(DECLARED_FOR / 2)
    await engine.tidy()
    assert [state.group for state in await engine.groups()] == [kept]
    await engine.tidy()
    assert [state.breaker.name for state in await engine.breakers()] == ["sms"]


@pytest.mark.parametrize("of_queue", [False, True], ids=["lane", "queue"])
async def test_limits_that_nobody_declares_any_more_hold_while_jobs_are_under_them(engine, clock, of_queue):
    name, where = (QUEUE, None) if of_queue else (GROUP, GROUP)
    await engine.put_groups([Group(name, limit=Limit(concurrency=1))])
    await engine.enqueue(news(2, lane=where))
    clock.advance(DECLARED_FOR + 1)
    await register(engine)
    await engine.tidy()
    [held] = await claim(engine)
    await engine.tidy()
    assert await claim(engine) == []
    assert len(await engine.groups()) == 1
    await settle(engine, held)
    [last] = await claim(engine)
    await settle(engine, last)
    clock.advance(60)  # what the lane owes is worked off
    await engine.tidy()
    await engine.tidy()
    assert await engine.groups() == []
