"""Limits on PostgreSQL: nobody waits for a lane, limits hold, and a claim costs what it takes."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from conformance.kit import QUEUE, TASK, claim, end, make_id, new, news, register, retried, settle, want
from engines.postgres_kit import ask, connect, fresh_engine
from engines.test_postgres_locks import deadlocks
from engines.test_postgres_plans import touched
from penstock.engine import Group
from penstock.engines.postgres.engine import PostgresEngine
from penstock.engines.postgres.settle import Step
from penstock.model.breaker import Breaker, Circuit
from penstock.model.job import Ties
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.outcome import COMPLETED, Completed

GROUP = group_name(QUEUE, TASK)
ONE = Limit(concurrency=1)


def lane(key: str | None = None) -> str:
    return limited_lane(GROUP, key)


async def test_a_transaction_that_enqueues_and_stays_open_holds_nobody_up():
    async with fresh_engine() as engine, await connect() as user:
        await register(engine)
        await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=2))])
        await engine.enqueue(news(4, lane=lane("a")))
        await user.execute("begin")
        job = f'[{{"task": "{TASK}", "queue": "{QUEUE}", "lane": "{lane("a")}"}}]'
        await user.execute(f"select * from {engine.schema}.enqueue('{job}')".encode())
        async with asyncio.timeout(1.5):  # shorter than any lock is waited for
            held = await claim(engine)
            settled = await engine.settle([end(h) for h in held], want())
            await engine.tidy()
            await engine.put_groups([Group(GROUP, per_key=Limit(concurrency=3))])
        assert (len(held), len(settled.claims)) == (2, 2)
        await user.execute("commit")
        assert len(await claim(engine)) == 1


async def test_eight_who_claim_at_once_take_what_the_limits_let_them_and_no_more():
    async with fresh_engine(pool_size=8) as engine:
        await register(engine)
        await engine.put_groups(
            [
                Group(QUEUE, limit=Limit(concurrency=9)),
                Group(GROUP, limit=Limit(concurrency=7), per_key=Limit(concurrency=2)),
            ]
        )
        jobs = [new(lane=lane(key)) for key in "abcde" for _ in range(10)] + news(10)
        await engine.enqueue(jobs)
        answers = await asyncio.gather(*(claim(engine, limit=3) for _ in range(8)))
        held = [h for some in answers for h in some]
        assert len(held) == 9
        in_lanes = [h.lane for h in held if h.lane != QUEUE]
        assert len(in_lanes) <= 7
        assert max(in_lanes.count(name) for name in in_lanes) <= 2


async def test_limits_hold_while_runs_end_by_every_verb_and_are_counted_anew():
    async with fresh_engine(pool_size=8) as engine:
        await engine.put_groups([Group(GROUP, limit=Limit(concurrency=4), per_key=Limit(concurrency=2))])
        await engine.enqueue([new(lane=lane(f"k{n % 5}")) for n in range(150)])
        running: set[str] = set()

        async def work(n: int) -> None:
            worker = await register(engine, f"w{n}", ttl=600)
            outcomes = itertools.cycle([COMPLETED, COMPLETED, retried()])
            while (held := await claim(engine, worker=worker, limit=3)) or await waiting(engine):
                running.update(h.id for h in held)
                assert len(running) <= 4
                await asyncio.sleep(0)
                running.difference_update(h.id for h in held)
                await engine.settle([end(h, next(outcomes)) for h in held])

        async def count() -> None:
            while await waiting(engine):
                await engine.tidy()

        await asyncio.gather(*(work(n) for n in range(6)), count())
        await engine.tidy()
        assert [found.active for found in await engine.groups()] == [0]


async def waiting(engine: PostgresEngine) -> bool:
    [(left,)] = await ask(f"select exists (select from {engine.schema}.jobs)")
    return bool(left)


async def test_a_claim_costs_the_same_behind_many_thousand_jobs_that_cannot_start():
    async with fresh_engine() as engine:
        await register(engine, ttl=3600)
        await engine.put_breakers([Breaker(name="mail")])
        down = group_name(QUEUE, "app.mail")
        await engine.put_groups([Group(GROUP, per_key=ONE), Group(down, needs=("mail",))])
        await engine.set_breaker("mail", Circuit.OPEN)
        await engine.enqueue(news(5_000, lane=lane("full"), priority=1))
        await engine.enqueue(news(5_000, lane=down, priority=1))
        await engine.enqueue([new(lane=lane(f"k{n}"), priority=1) for n in range(500)])
        assert len(await claim(engine)) == 501
        await engine.enqueue(news(50))
        await ask(f"vacuum analyze {engine.schema}.jobs")
        [call] = Step([], want(limit=20)).calls(engine._sql, None)
        read = await touched(call, engine.schema)
        assert read["jobs"] <= 60  # chosen, held and changed
        assert read["limited_lanes"] <= 20


async def test_a_claim_reads_a_few_lanes_of_many():
    async with fresh_engine() as engine:
        await register(engine, ttl=3600)
        await engine.put_groups([Group(GROUP, per_key=ONE)])
        await engine.enqueue([new(lane=lane(f"k{n}")) for n in range(3_000)])
        assert len(await claim(engine, limit=1)) == 1
        await ask(f"vacuum analyze {engine.schema}.limited_lanes")
        [call] = Step([], want(limit=10)).calls(engine._sql, None)
        read = await touched(call, engine.schema)
        assert read["limited_lanes"] <= 100
        assert read["jobs"] <= 100


async def test_a_completion_under_a_breaker_that_is_well_does_not_write_it():
    async with fresh_engine() as engine:
        await register(engine)
        await engine.put_breakers([Breaker(name="mail")])
        await engine.put_groups([Group(GROUP, needs=("mail",))])
        version = f"select xmin, ctid, xmax from {engine.schema}.breakers"
        before = await ask(version)
        await engine.enqueue(news(3, lane=GROUP))
        for held in await claim(engine):
            assert await settle(engine, held, Completed(healthy=True))
        assert await ask(version) == before


async def test_claims_without_limits_take_no_lock_and_write_no_lane():
    async with fresh_engine() as engine:
        await register(engine)
        await engine.put_groups([Group(group_name("other", TASK), per_key=ONE)])
        await engine.enqueue(news(3))
        held = await claim(engine)
        await engine.settle([end(h) for h in held])
        assert await ask(f"select * from {engine.schema}.lane_news") == []
        assert await ask(f"select * from {engine.schema}.limited_lanes") == []


async def _work(engine: PostgresEngine, worker: str) -> None:
    held = await claim(engine, worker=worker, limit=10)
    await engine.settle([end(h, retried()) for h in held[::2]], want(worker=worker))
    await engine.settle([end(h) for h in held[1::2]], want(worker=worker))


async def _enqueue(engine: PostgresEngine, _worker: str) -> None:
    first = [new(lane=lane(f"k{n % 7}"), ties=Ties(feeds=True)) for n in range(10)]
    await engine.enqueue(first)
    await engine.cancel([job.id for job in first[::-3]], "no")


MEETING = {
    "work": _work,
    "enqueue": _enqueue,
    "tidy": lambda engine, _: engine.tidy(),
    "declare": lambda engine, worker: engine.put_groups([Group(GROUP, limit=Limit(concurrency=len(worker)))]),
    "show": lambda engine, _: engine.groups(),
    "lose": lambda engine, worker: engine.rescue_worker(worker, frozenset(), lambda _: retried()),
    "break": lambda engine, worker: engine.report_breaker("mail", worker, False),
}


@pytest.mark.parametrize("pair", list(itertools.combinations(MEETING, 2)), ids="-".join)
async def test_two_verbs_on_the_same_lanes_do_not_deadlock(pair):
    async with fresh_engine(pool_size=6) as engine:
        await engine.put_breakers([Breaker(name="mail", threshold=2, reset=0.01, probes=2)])
        await engine.put_groups([Group(GROUP, limit=Limit(concurrency=8), per_key=ONE, needs=("mail",))])
        await engine.enqueue([new(lane=lane(f"k{n % 7}")) for n in range(60)])
        workers = [await register(engine, make_id()) for _ in range(6)]
        before = await deadlocks()
        await asyncio.gather(
            *(MEETING[name](engine, worker) for name, worker in zip(pair * 3, workers, strict=True)),
            return_exceptions=True,
        )
        assert await deadlocks() == before


async def test_a_claim_under_limits_is_stamped_with_the_instant_at_which_they_were_judged():
    """So that by what is stored no more start in a time than the rate allows."""
    async with fresh_engine() as engine:
        await register(engine)
        await engine.put_groups([Group(QUEUE, Limit(rate=1.0))])
        await engine.enqueue(news(1))
        [held] = await claim(engine)
        job = await engine.get(held.id)
        [[spent_until]] = await ask(f"select spent_until from {engine.schema}.groups where name = '{QUEUE}'")
        assert job.claimed_at.timestamp() + 1.0 == pytest.approx(spent_until, abs=2e-6)
