"""Turns: what it costs to find the lane whose turn is next."""

from __future__ import annotations

from conformance.kit import claim, end, new, put, register
from engines.redis_kit import commands, fresh_engine
from penstock.engine import Group
from penstock.model.clock import FakeClock
from penstock.model.limits import Limit
from servers import RedisServer

GROUP = "default>app.work"


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
