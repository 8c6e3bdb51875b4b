"""settle brings the next claims in the same round trip."""

from conformance.kit import WORKER, end, gone, ids, news, put, read, settle, state, take, want
from penstock.engine import Settled
from penstock.model.states import State


async def test_settling_brings_the_next_jobs(engine, worker):
    held = await take(engine)
    jobs = news(5)
    await engine.enqueue(jobs)
    settled = await engine.settle([end(held)], want(limit=3))
    assert (settled.accepted, settled.expired) == ([True], False)
    assert ids(settled.claims) == ids(jobs[:3])
    assert all(c.attempt == 1 for c in settled.claims)
    assert all([await settle(engine, c) for c in settled.claims])


async def test_settling_nothing_may_still_claim(engine, worker):
    job = await put(engine)
    assert ids((await engine.settle([], want())).claims) == [job]


async def test_a_refused_settlement_does_not_stop_the_claims(engine, worker):
    held = await take(engine)
    job = await put(engine)
    settled = await engine.settle([end(held._replace(token="x"))], want())
    assert settled.accepted == [False]
    assert ids(settled.claims) == [job]


async def test_an_expired_worker_settles_by_its_tokens_and_claims_nothing(engine, worker, clock):
    held = await take(engine)
    waiting = await put(engine)
    clock.advance(31)
    assert await engine.settle([end(held)], want()) == Settled([True], [], True)
    assert await state(engine, held.id) is State.COMPLETED
    assert await state(engine, waiting) is State.WAITING


async def test_a_worker_given_up_is_told_so_when_it_settles(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    assert await engine.settle([end(held)], want()) == Settled([False], [], True)


async def test_claims_of_a_settle_can_be_released_by_their_request(engine, worker):
    held = await take(engine)
    job = await put(engine)
    await engine.settle([end(held)], want(request="r1"))
    assert await engine.release(WORKER, "r1") == 1
    assert (await read(engine, job)).attempt == 0
