"""wait: a hint that work may be there; late at worst, never lost."""

import asyncio

import pytest

from conformance.kit import put, register, retried, settle, take

PATIENCE = 20.0  # far above any poll interval, far below the test's own timeout


async def test_it_returns_after_its_timeout(engine):
    async with asyncio.timeout(PATIENCE):
        await engine.wait(["default"], 0.05)


async def test_waiting_for_no_queue_returns_after_its_timeout(engine):
    async with asyncio.timeout(PATIENCE):
        await engine.wait([], 0.05)


async def test_it_does_not_wait_by_the_injected_clock(engine, clock):
    async with asyncio.timeout(PATIENCE):
        await engine.wait(["default"], 0.01)
    assert clock.now() == type(clock)().now()


async def test_a_job_put_in_by_the_same_engine_wakes(engine):
    waiting = asyncio.create_task(engine.wait(["default"], 600))
    await asyncio.sleep(0)
    await put(engine)
    async with asyncio.timeout(PATIENCE):
        await waiting


async def test_a_job_put_in_by_another_engine_wakes(make_engine):
    one, two = await make_engine(), await make_engine()
    waiting = asyncio.create_task(one.wait(["other", "default"], 600))
    await asyncio.sleep(0)
    await put(two)
    async with asyncio.timeout(PATIENCE):
        await waiting


async def test_a_job_that_waits_again_wakes(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    held = await take(one)
    waiting = asyncio.create_task(two.wait(["default"], 600))
    await asyncio.sleep(0)
    await settle(one, held, retried())
    async with asyncio.timeout(PATIENCE):
        await waiting


async def test_several_may_wait_at_once(engine):
    waiting = [asyncio.create_task(engine.wait(["default"], 600)) for _ in range(3)]
    await asyncio.sleep(0)
    await put(engine)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*waiting)


async def test_a_waiter_can_be_cancelled_and_the_engine_goes_on(engine):
    waiting = asyncio.create_task(engine.wait(["default"], 600))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await put(engine)


async def test_closing_the_engine_ends_a_wait(make_engine):
    engine = await make_engine()
    waiting = asyncio.create_task(engine.wait(["default"], 600))
    await asyncio.sleep(0)
    await engine.close()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(waiting, return_exceptions=True)
