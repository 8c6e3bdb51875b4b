"""promote: a delayed job is due now."""

from conformance.kit import claim, counts, finish, ids, new, news, put, read, state, take
from penstock.model.states import State


async def test_a_promoted_job_is_due_now(engine, worker, clock):
    job = await put(engine, delay=60)
    clock.advance(5)
    assert await engine.promote([job]) == 1
    found = await read(engine, job)
    assert (found.state, found.due_at) == (State.WAITING, clock.now())
    assert await counts(engine) == {State.WAITING: 1}
    assert ids(await claim(engine)) == [job]


async def test_a_promoted_job_stands_behind_those_due_before(engine, worker, clock):
    delayed = await put(engine, delay=60)
    first = await put(engine)
    clock.advance(1)
    await engine.promote([delayed])
    clock.advance(1)
    last = await put(engine)
    assert ids(await claim(engine)) == [first, delayed, last]


async def test_only_delayed_jobs_are_promoted(engine, worker):
    done, running = await finish(engine), await take(engine)
    waiting, delayed = await put(engine), await put(engine, delay=60)
    assert await engine.promote([done.id, running.id, waiting, delayed, new().id]) == 1
    assert [await state(engine, j) for j in (done.id, running.id, waiting, delayed)] == [
        State.COMPLETED, State.ACTIVE, State.WAITING, State.WAITING,
    ]  # fmt: skip


async def test_a_waiting_job_keeps_its_place_when_promoted(engine, worker, clock):
    first = await put(engine)
    clock.advance(1)
    second = await put(engine)
    await engine.promote([first])
    assert ids(await claim(engine)) == [first, second]


async def test_others_are_left_alone(engine):
    jobs = news(3, delay=60)
    await engine.enqueue(jobs)
    assert await engine.promote([jobs[0].id, jobs[0].id]) == 1
    assert await engine.promote([]) == 0
    assert await counts(engine) == {State.WAITING: 1, State.DELAYED: 2}
