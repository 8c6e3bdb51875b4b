"""cancel: what has not begun ends at once; what runs is asked to stop; what has ended stays as it is."""

import pytest

from conformance.kit import claim, counts, failed, finish, new, news, put, read, state, take
from penstock.engine import Settlement
from penstock.model.decide import judge
from penstock.model.outcome import COMPLETED, Cancelled, Released, Retried, Snoozed
from penstock.model.states import State


@pytest.mark.parametrize("delay", [0, 60])
async def test_a_job_that_has_not_begun_is_cancelled_at_once(engine, worker, clock, delay):
    job_id = await put(engine, delay=delay)
    clock.advance(1)
    assert await engine.cancel([job_id], "not wanted") == [State.CANCELLED]
    job = await read(engine, job_id)
    assert (job.state, job.note, job.finished_at) == (State.CANCELLED, "not wanted", clock.now())
    assert (job.attempt, job.started_at) == (0, None)
    assert job.cancel_requested is False  # nobody had to be asked
    assert await counts(engine) == {State.CANCELLED: 1}
    clock.advance(20)
    await engine.stage(10)
    assert await claim(engine) == []


async def test_an_active_job_is_asked_to_stop(engine, worker):
    held = await take(engine)
    assert await engine.cancel([held.id], "no") == [State.ACTIVE]
    job = await read(engine, held.id)
    assert (job.state, job.cancel_requested, job.finished_at) == (State.ACTIVE, True, None)
    assert job.note == "no"
    assert await counts(engine) == {State.ACTIVE: 1}


@pytest.mark.parametrize("outcome", [COMPLETED, failed(), Cancelled("first")], ids=lambda o: o.verb)
async def test_a_finished_job_stays_as_it_is(engine, worker, outcome):
    held = await finish(engine, outcome=outcome)
    before = await read(engine, held.id)
    assert await engine.cancel([held.id], "no") == [outcome.state]
    assert await read(engine, held.id) == before


async def test_an_unknown_job_is_answered_none_and_not_cancelled_when_it_comes(engine, worker):
    job = new()
    assert await engine.cancel([job.id], "no") == [None]
    await engine.enqueue([job])
    assert await state(engine, job.id) is State.WAITING


async def test_each_job_is_answered_in_its_place(engine, worker):
    done, running = await finish(engine), await take(engine)
    waiting, delayed = await put(engine), await put(engine, delay=60)
    asked = [delayed, new().id, running.id, waiting, done.id, waiting]
    assert await engine.cancel(asked, "no") == [
        State.CANCELLED, None, State.ACTIVE, State.CANCELLED, State.COMPLETED, State.CANCELLED,
    ]  # fmt: skip
    assert await counts(engine) == {State.CANCELLED: 2, State.ACTIVE: 1, State.COMPLETED: 1}


async def test_nothing_to_cancel_is_nothing_done(engine):
    assert await engine.cancel([], "no") == []


async def test_cancelling_twice_keeps_the_first_reason(engine):
    job = await put(engine)
    await engine.cancel([job], "first")
    await engine.cancel([job], "second")
    assert (await read(engine, job)).note == "first"


ENDS_OF_A_CANCELLED_RUN = {
    "stopped": Cancelled("cancelled while running"),
    "failed": Retried(5, None),
    "snoozed": Snoozed(5, "not yet"),
    "handed back": Released(),
}


@pytest.mark.parametrize("outcome", ENDS_OF_A_CANCELLED_RUN.values(), ids=ENDS_OF_A_CANCELLED_RUN)
async def test_a_job_cancelled_while_it_ran_keeps_the_first_reason(engine, worker, outcome):
    held = await take(engine)
    await engine.cancel([held.id], "duplicate order")
    await engine.cancel([held.id], "second")
    await engine.settle([Settlement(held.id, held.token, outcome)])
    job = await read(engine, held.id)
    assert (job.state, job.note) == (State.CANCELLED, "duplicate order")


async def test_a_job_cancelled_while_it_ran_keeps_the_reason_though_its_worker_was_lost(engine, worker):
    held = await take(engine)
    await engine.cancel([held.id], "duplicate order")
    await engine.rescue_worker(worker, frozenset({held.token}), judge)
    job = await read(engine, held.id)
    assert (job.state, job.note) == (State.CANCELLED, "duplicate order")


async def test_a_job_that_completes_though_it_was_cancelled_has_no_reason(engine, worker):
    held = await take(engine)
    await engine.cancel([held.id], "too late")
    await engine.settle([Settlement(held.id, held.token, COMPLETED)])
    job = await read(engine, held.id)
    assert (job.state, job.note) == (State.COMPLETED, None)


async def test_a_cancelled_job_keeps_its_record_and_key(engine):
    job = await put(engine, key="k", args='{"a":1}')
    await engine.cancel([job], "no")
    assert (await read(engine, job)).args == {"a": 1}
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.state, answer.duplicate) == (job, State.CANCELLED, True)


async def test_others_are_left_alone(engine):
    jobs = news(3)
    await engine.enqueue(jobs)
    await engine.cancel([jobs[1].id], "no")
    assert [await state(engine, j.id) for j in jobs] == [State.WAITING, State.CANCELLED, State.WAITING]
