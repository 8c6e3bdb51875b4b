"""rescue_worker: what was held by a worker seen to be dead comes back at once."""

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    TTL,
    WORKER,
    Witness,
    claim,
    counts,
    end,
    gone,
    ids,
    never,
    new,
    news,
    put,
    read,
    register,
    retried,
    settle,
    take,
)
from penstock.engine import Rescued
from penstock.model.decide import judge
from penstock.model.errors import WorkerExpired
from penstock.model.states import State, Status


async def test_a_worker_seen_dead_is_emptied_at_once(engine, worker):
    await engine.enqueue(news(3))
    held = await claim(engine)
    witness = Witness()
    rescued = await engine.rescue_worker(WORKER, frozenset({held[1].token}), witness)
    assert sorted(ids(rescued)) == ids(held)
    assert {h.id: h.started for h in witness.seen} == {h.id: h is held[1] for h in held}
    assert await counts(engine) == {State.WAITING: 3}


async def test_the_models_judge_charges_only_what_had_begun(engine, worker):
    ran, idle = news(2)
    await engine.enqueue([ran, idle])
    held = {h.id: h for h in await claim(engine)}
    await engine.rescue_worker(WORKER, frozenset({held[ran.id].token}), judge)
    begun, untouched = await read(engine, ran.id), await read(engine, idle.id)
    assert (begun.suspect, begun.rescues, len(begun.errors), begun.status) == (True, 1, 1, Status.PROCESSING)
    assert (untouched.suspect, untouched.rescues, untouched.errors) == (False, 0, [])
    assert (untouched.attempt, untouched.started_at, untouched.status) == (0, None, Status.PENDING)


async def test_a_job_that_started_in_an_earlier_attempt_keeps_its_first_start(engine, worker, clock):
    held = await take(engine)
    first = clock.now()
    await settle(engine, held, retried())
    clock.advance(5)
    await claim(engine)
    await engine.rescue_worker(WORKER, frozenset(), judge)
    job = await read(engine, held.id)
    assert (job.attempt, job.started_at) == (1, first)


async def test_a_job_of_one_attempt_that_had_begun_is_dead(engine, worker):
    held = await take(engine, max_attempts=1)
    [rescued] = await engine.rescue_worker(WORKER, frozenset({held.token}), judge)
    assert rescued == Rescued(held.id, QUEUE, TASK, WORKER, State.FAILED)
    dead = await engine.dead_letter(held.id)
    assert dead is not None
    assert dead.reason == "crashed"


async def test_a_worker_seen_dead_cannot_come_back(engine, worker):
    held = await take(engine)
    await put(engine)
    await engine.rescue_worker(WORKER, frozenset(), gone)
    assert (await engine.beat(worker, TTL)).given_up
    with pytest.raises(WorkerExpired):
        await claim(engine)
    assert not await settle(engine, held)
    assert await engine.workers() == []


async def test_a_worker_seen_dead_takes_nobody_with_it(engine, worker):
    await register(engine, "w2")
    mine, other = await take(engine), await take(engine, worker="w2")
    await engine.rescue_worker(WORKER, frozenset(), gone)
    assert await settle(engine, other)
    assert not await settle(engine, mine)


async def test_an_unknown_worker_has_nothing_to_rescue(engine):
    assert await engine.rescue_worker("nobody", frozenset(), never) == []


async def test_rescuing_twice_rescues_once(engine, worker, clock):
    await take(engine)
    assert len(await engine.rescue_worker(WORKER, frozenset(), gone)) == 1
    assert await engine.rescue_worker(WORKER, frozenset(), never) == []
    clock.advance(31)
    assert await engine.rescue(10, never) == []


async def test_a_worker_seen_dead_is_emptied_whatever_it_held(engine, worker):
    await engine.enqueue(news(300))
    held = await claim(engine)
    await engine.settle([end(h) for h in held[:50]])
    assert len(await engine.rescue_worker(WORKER, frozenset(), gone)) == 250
    assert await counts(engine) == {State.COMPLETED: 50, State.WAITING: 250}


async def test_a_rescued_job_keeps_its_key(engine, worker):
    held = await take(engine, key="k")
    await engine.rescue_worker(WORKER, frozenset(), gone)
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.duplicate) == (held.id, True)
