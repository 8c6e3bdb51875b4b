"""release: what an unanswered claim took goes back as if it had never been taken."""

from conformance.kit import WORKER, claim, counts, ids, news, put, read, register, retried, settle
from penstock.model.states import State, Status


async def test_a_released_claim_is_undone(engine, worker, clock):
    jobs = news(3)
    await engine.enqueue(jobs)
    before = [await read(engine, j.id) for j in jobs]
    clock.advance(5)
    await claim(engine, request="r1")
    assert await engine.release(WORKER, "r1") == 3
    after = [await read(engine, j.id) for j in jobs]
    assert [(j.state, j.attempt, j.started_at, j.worker, j.due_at) for j in after] == [
        (State.WAITING, 0, None, None, b.due_at) for b in before
    ]
    assert all(j.status is Status.PENDING for j in after)
    assert {j.note for j in after} == {"its claim was not received"}
    assert await counts(engine) == {State.WAITING: 3}
    assert ids(await claim(engine)) == ids(jobs)


async def test_a_release_keeps_the_first_start_of_a_job_that_ran_before(engine, worker, clock):
    await put(engine)
    started = clock.now()
    [held] = await claim(engine)
    await settle(engine, held, retried())
    clock.advance(5)
    await claim(engine, request="r1")
    await engine.release(WORKER, "r1")
    job = await read(engine, held.id)
    assert (job.attempt, job.started_at) == (1, started)


async def test_a_release_touches_only_its_own_request(engine, worker):
    await engine.enqueue(news(4))
    kept = await claim(engine, limit=2, request="r1")
    lost = await claim(engine, limit=2, request="r2")
    assert await engine.release(WORKER, "r2") == 2
    assert [(await read(engine, h.id)).state for h in kept] == [State.ACTIVE] * 2
    assert ids(await claim(engine)) == ids(lost)
    assert all([await settle(engine, h) for h in kept])


async def test_a_release_touches_only_the_workers_own(engine, worker):
    await register(engine, "w2")
    await engine.enqueue(news(2))
    await claim(engine, limit=1, request="same")
    await claim(engine, limit=1, request="same", worker="w2")
    assert await engine.release("w2", "same") == 1
    assert await counts(engine) == {State.ACTIVE: 1, State.WAITING: 1}


async def test_an_unknown_request_releases_nothing(engine, worker):
    await put(engine)
    await claim(engine, request="r1")
    assert await engine.release(WORKER, "r2") == 0
    assert await engine.release("nobody", "r1") == 0
    assert await counts(engine) == {State.ACTIVE: 1}


async def test_releasing_twice_releases_once(engine, worker):
    await put(engine)
    await claim(engine, request="r1")
    assert await engine.release(WORKER, "r1") == 1
    assert await engine.release(WORKER, "r1") == 0
    [held] = await claim(engine, request="r3")
    assert held.attempt == 1
    assert await engine.release(WORKER, "r1") == 0


async def test_what_has_ended_is_not_released(engine, worker):
    await engine.enqueue(news(3))
    held = await claim(engine, request="r1")
    await settle(engine, held[0])
    await settle(engine, held[1], retried(60))
    assert await engine.release(WORKER, "r1") == 1
    assert await counts(engine) == {State.COMPLETED: 1, State.DELAYED: 1, State.WAITING: 1}


async def test_the_tokens_of_a_released_claim_are_void(engine, worker):
    await put(engine)
    [held] = await claim(engine, request="r1")
    await engine.release(WORKER, "r1")
    assert not await settle(engine, held)
    assert not await settle(engine, held, again=True)
    assert (await read(engine, held.id)).state is State.WAITING


async def test_the_tokens_of_a_released_claim_are_void_also_when_the_job_ends_without_them(engine, worker):
    await put(engine)
    [held] = await claim(engine, request="r1")
    await engine.release(WORKER, "r1")
    await engine.cancel([held.id], "no")
    assert not await settle(engine, held, again=True)


async def test_a_released_job_asked_to_stop_is_cancelled(engine, worker):
    await put(engine)
    [held] = await claim(engine, request="r1")
    await engine.cancel([held.id], "no")
    await engine.release(WORKER, "r1")
    assert (await read(engine, held.id)).state is State.CANCELLED
    assert await claim(engine) == []


async def test_an_expired_worker_may_still_release(engine, worker, clock):
    await put(engine)
    await claim(engine, request="r1")
    clock.advance(31)
    assert await engine.release(WORKER, "r1") == 1
