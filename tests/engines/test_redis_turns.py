"""Turns: the sets in which lanes stand give the same order as the rule itself, however time passes."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime, timedelta

import pytest

from conformance.kit import claim, end, new, put, register
from engines.redis_kit import commands, fresh_engine
from penstock.engine import Group
from penstock.model.clock import FakeClock
from penstock.model.job import NewJob
from penstock.model.lanes import OLDEST_TURN, TURN_COST
from penstock.model.limits import Limit
from penstock.model.priority import HEAD_START, Priority
from servers import RedisServer

QUEUE, GROUP = "default", "default>app.work"


class Reference:
    """The contract's rule, by looking at everything."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
        self.owing: dict[str, datetime] = {}

    def put(self, job: NewJob, now: datetime) -> None:
        head = timedelta(seconds=HEAD_START[Priority(job.priority)])
        self.waiting[job.lane or QUEUE].append((now - head, job.id))
        self.waiting[job.lane or QUEUE].sort()

    def turn(self, lane: str, now: datetime) -> datetime:
        rank = max(self.waiting[lane][0][0], now - timedelta(seconds=OLDEST_TURN))
        return rank + max(self.owing.get(lane, now) - now, timedelta(0))

    def first(self, now: datetime) -> set[str]:
        """The lanes whose turn it is: several, where theirs are equal."""
        turns = {lane: self.turn(lane, now) for lane, jobs in self.waiting.items() if jobs}
        return {lane for lane, turn in turns.items() if turn == min(turns.values())}

    def take(self, lane: str, now: datetime) -> str:
        if lane != QUEUE:
            self.owing[lane] = max(self.owing.get(lane, now), now) + timedelta(seconds=TURN_COST)
        return self.waiting[lane].pop(0)[1]


@pytest.mark.parametrize("seed", range(6))
async def test_the_order_of_claims_is_the_rules_own(seed):
    chance, clock, rule = random.Random(seed), FakeClock(), Reference()
    async with fresh_engine(clock=clock) as engine:
        for step in range(60):
            jobs = [
                new(
                    lane=chance.choice([None, *(f"{GROUP}>{key}" for key in "abcdefgh")]),
                    priority=chance.choice(list(Priority)),
                )
                for _ in range(chance.randrange(6))
            ]
            await engine.enqueue(jobs)
            for job in jobs:
                rule.put(job, clock.now())
            worker = await register(engine, f"w{step}")
            held = await claim(engine, worker=worker, limit=chance.randrange(1, 6))
            for each in held:
                assert each.lane in rule.first(clock.now())
                assert rule.take(each.lane, clock.now()) == each.id
            await engine.settle([end(each) for each in held])
            clock.advance(chance.choice([0, 1, 5, 10, 30, 400, 1_000]))


# -- cost -------------------------------------------------------------------------------------------------


async def cost_of_a_claim(server: RedisServer, engine, worker: str) -> int:
    before = sum(commands(server).values())
    held = await claim(engine, worker=worker, limit=1)
    spent = sum(commands(server).values()) - before
    await engine.settle([end(each) for each in held])
    return spent


async def test_a_claim_costs_the_same_behind_thousands_of_lanes_that_cannot_start():
    clock = FakeClock()
    with RedisServer() as server:
        async with fresh_engine(server, clock=clock) as engine:
            await engine.put_groups([Group(GROUP, per_key=Limit(rate=0.0001))])
            worker = await register(engine, ttl=3_000)
            costs = []
            for many in (10, 3_000):
                await engine.enqueue([new(lane=f"{GROUP}>{many}-{n}") for n in range(many) for _ in range(2)])
                held = await claim(engine, limit=many, each=many)
                assert len(held) == many
                await engine.settle([end(each) for each in held])
                await put(engine)
                costs.append(await cost_of_a_claim(server, engine, worker))
            assert costs[1] <= costs[0] + 3


async def test_a_claim_costs_the_same_however_many_lanes_have_worked_off_what_they_owed():
    """Their places are wrong by then, and are put right a few at a time."""
    clock = FakeClock()
    with RedisServer() as server:
        async with fresh_engine(server, clock=clock) as engine:
            worker = await register(engine, ttl=30_000)
            many = 2_000
            await engine.enqueue([new(lane=f"{GROUP}>{n}") for n in range(many) for _ in range(2)])
            await engine.settle([end(each) for each in await claim(engine, limit=many, each=many)])
            clock.advance(60)
            assert await cost_of_a_claim(server, engine, worker) < 500
