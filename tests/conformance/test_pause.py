"""set_paused: a queue stands still, for every worker, and nothing else does."""

from conformance.kit import claim, end, ids, new, news, put, register, settle, state, take, want
from penstock.model.states import State


async def test_a_paused_queue_gives_nothing_and_another_still_does(engine, worker):
    await engine.enqueue(news(2, "still") + news(2, "runs"))
    await engine.set_paused("still", True)
    assert [h.queue for h in await claim(engine, "still", "runs")] == ["runs", "runs"]


async def test_a_resumed_queue_gives_again_in_order(engine, worker):
    jobs = news(3)
    await engine.enqueue(jobs)
    await engine.set_paused("default", True)
    assert await claim(engine) == []
    await engine.set_paused("default", False)
    assert ids(await claim(engine)) == ids(jobs)


async def test_the_next_claims_of_a_settle_keep_to_it(engine, worker):
    held = await take(engine)
    await put(engine)
    await engine.set_paused("default", True)
    settled = await engine.settle([end(held)], want())
    assert (settled.accepted, settled.claims, settled.expired) == ([True], [], False)


async def test_what_runs_is_not_disturbed(engine, worker):
    held = await take(engine)
    await engine.set_paused("default", True)
    assert await settle(engine, held)


async def test_jobs_still_come_in(engine, worker):
    await engine.set_paused("later", True)
    job = await put(engine, "later")
    assert await state(engine, job) is State.WAITING
    assert await claim(engine, "later") == []


async def test_it_is_told_with_the_queue(engine):
    await engine.enqueue([new("a"), new("b")])
    await engine.set_paused("b", True)
    assert {q.queue: q.paused for q in await engine.queues()} == {"a": False, "b": True}
    await engine.set_paused("b", False)
    assert {q.queue: q.paused for q in await engine.queues()} == {"a": False, "b": False}


async def test_pausing_twice_needs_no_second_resume(engine, worker):
    job = await put(engine)
    for paused in (True, True, False):
        await engine.set_paused("default", paused)
    assert ids(await claim(engine)) == [job]


async def test_it_holds_for_every_engine_on_the_storage(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(two)
    await put(one)
    await one.set_paused("default", True)
    assert await claim(two) == []
