"""register and beat: who is alive, and what it is told."""

from datetime import timedelta

import pytest

from conformance.kit import (
    TTL,
    claim,
    gone,
    ids,
    news,
    put,
    register,
    retried,
    settle,
    take,
)
from penstock.engine import CancelOrder, Order, Orders
from penstock.engine.feeding import LISTENER_KEY, LISTENER_KIND
from penstock.model.errors import WorkerExpired


async def test_a_beat_with_nothing_to_tell_brings_no_orders(engine, worker):
    assert await engine.beat(worker, TTL) == Orders()


async def test_a_worker_lives_as_long_as_it_is_beaten_for(engine, worker, clock):
    for _ in range(5):
        clock.advance(20)
        assert not (await engine.beat(worker, TTL)).given_up
    assert await claim(engine) == []


async def test_a_beat_sets_the_time_of_expiry(engine, worker, clock):
    clock.advance(10)
    await engine.beat(worker, 5)
    [info] = await engine.workers()
    assert info.expires_at == clock.now() + timedelta(seconds=5)


async def test_a_beat_that_comes_too_late_is_answered_given_up(engine, worker, clock):
    clock.advance(31)
    assert (await engine.beat(worker, TTL)).given_up


async def test_given_up_is_final(engine, worker, clock):
    clock.advance(31)
    await engine.beat(worker, TTL)
    assert (await engine.beat(worker, TTL)).given_up
    with pytest.raises(WorkerExpired):
        await claim(engine)
    await engine.rescue(10, gone)
    assert (await engine.beat(worker, TTL)).given_up


async def test_a_late_beat_does_not_save_the_workers_jobs_from_rescue(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.beat(worker, TTL)
    assert ids(await engine.rescue(10, gone)) == [held.id]


async def test_an_unknown_worker_is_given_up(engine):
    assert (await engine.beat("nobody", TTL)).given_up


async def test_one_workers_beat_keeps_no_other_alive(engine, worker, clock):
    await register(engine, "w2")
    clock.advance(20)
    await engine.beat("w2", TTL)
    clock.advance(11)
    assert (await engine.beat(worker, TTL)).given_up
    assert not (await engine.beat("w2", TTL)).given_up


async def test_a_cancelled_active_job_is_told_to_its_own_worker(engine, worker):
    await register(engine, "w2")
    await engine.enqueue(news(2))
    [stop, _] = await claim(engine)
    await engine.cancel([stop.id], "no")
    assert (await engine.beat(worker, TTL)).cancel == (CancelOrder(stop.id, stop.token),)
    assert (await engine.beat("w2", TTL)).cancel == ()


async def test_an_order_to_stop_is_repeated_until_the_job_ends(engine, worker):
    held = await take(engine)
    await engine.cancel([held.id], "no")
    for _ in range(2):
        assert (await engine.beat(worker, TTL)).cancel == (CancelOrder(held.id, held.token),)
    await settle(engine, held, retried())
    assert (await engine.beat(worker, TTL)).cancel == ()


async def test_a_cancelled_waiting_job_is_no_order(engine, worker):
    await engine.cancel([await put(engine)], "no")
    assert (await engine.beat(worker, TTL)).cancel == ()


async def test_a_beat_tells_whether_somebody_watches_the_feed(engine, worker, clock):
    assert not (await engine.beat(worker, TTL)).watched
    await engine.put_note(LISTENER_KIND, LISTENER_KEY, "{}", ttl=5)
    assert (await engine.beat(worker, TTL)).watched
    clock.advance(6)
    assert not (await engine.beat(worker, TTL)).watched


async def test_paused_queues_are_told(engine, worker):
    await put(engine)
    await engine.set_paused("default", True)
    assert (await engine.beat(worker, TTL)).paused == {"default"}
    await engine.set_paused("default", False)
    assert (await engine.beat(worker, TTL)).paused == frozenset()


async def test_an_order_to_a_worker_is_told_to_that_one_by_every_beat_until_it_is_taken_back(engine, worker):
    await register(engine, "w2")
    assert await engine.order_worker(worker, Order.QUIET)
    for _ in range(2):
        assert await engine.beat(worker, TTL) == Orders(order=Order.QUIET)
    assert (await engine.beat("w2", TTL)).order is None
    assert {info.id: info.order for info in await engine.workers()} == {worker: Order.QUIET, "w2": None}
    assert await engine.order_worker(worker, Order.STOP)
    assert (await engine.beat(worker, TTL)).order is Order.STOP
    assert await engine.order_worker(worker, None)
    assert await engine.beat(worker, TTL) == Orders()


async def test_who_is_not_alive_takes_no_orders(engine, worker, clock):
    assert not await engine.order_worker("nobody", Order.STOP)
    clock.advance(31)
    assert not await engine.order_worker(worker, Order.STOP)


async def test_an_order_goes_with_the_worker(engine, worker, clock):
    await engine.order_worker(worker, Order.STOP)
    await engine.rescue_worker(worker, frozenset(), gone)
    assert await engine.workers() == []
    await register(engine, "w2")
    assert (await engine.beat("w2", TTL)).order is None


async def test_an_ordered_worker_settles_and_claims_as_before(engine, worker):
    """Obeying is the worker's part: what it has, it ends; the engine refuses it nothing."""
    held = await take(engine)
    await engine.order_worker(worker, Order.QUIET)
    assert await settle(engine, held)
    assert await claim(engine) == []


async def test_a_beat_tells_how_much_memory_a_worker_has(engine, worker):
    assert [info.memory for info in await engine.workers()] == [None]
    await engine.beat(worker, TTL, 50 * 2**30)
    assert [info.memory for info in await engine.workers()] == [50 * 2**30]
    await engine.beat(worker, TTL)
    assert [info.memory for info in await engine.workers()] == [50 * 2**30], "the last that was told stands"
