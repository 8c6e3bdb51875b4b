"""Ties while several engines write at once: a job comes free once, and is never forgotten."""

import asyncio

from conformance.kit import (
    FEEDS,
    after,
    blocked,
    claim,
    ids,
    new,
    news,
    register,
    settle,
    take,
)
from penstock.model.outcome import COMPLETED


async def test_the_last_two_upstreams_end_at_once_and_the_job_comes_free_once(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        upstream = news(2)
        last = new(ties=after(*ids(upstream)))
        await one.enqueue([*upstream, last])
        left, right = await claim(one)
        assert await asyncio.gather(settle(one, left), settle(two, right)) == [True, True]
        [held] = await claim(two)
        assert held.id == last.id
        await settle(one, held)


async def test_a_job_put_in_while_its_upstream_ends_comes_free(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        held = await take(one, ties=FEEDS)
        second, _ = await asyncio.gather(blocked(two, held.id), settle(one, held))
        [held] = await claim(one)
        assert held.id == second
        await settle(one, held)


async def test_a_job_put_in_while_its_upstream_comes_and_ends_is_free_in_the_end(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        upstream = new(ties=FEEDS)
        second, _ = await asyncio.gather(blocked(two, upstream.id), one.enqueue([upstream]))
        [held] = await claim(one)
        await settle(one, held, COMPLETED)
        [held] = await claim(one)
        assert held.id == second
        await settle(one, held)
