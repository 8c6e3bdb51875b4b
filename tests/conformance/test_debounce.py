"""Debounce: while a job has not begun, a newcomer with its key replaces what it will do, and puts it off."""

from datetime import timedelta

import pytest

from conformance.kit import (
    FEEDS,
    QUEUE,
    TASK,
    after,
    claim,
    counts,
    make_id,
    new,
    put,
    read,
    register,
    retried,
    settle,
    state,
    take,
)
from penstock.engine import JobFilter, LaneState
from penstock.model.job import Window
from penstock.model.lanes import group_name, limited_lane, parked_lane
from penstock.model.outcome import Park
from penstock.model.priority import Priority
from penstock.model.states import State

QUIET = Window("debounce", 30)
GROUP = group_name(QUEUE, TASK)


def again(args: str = "{}", **more):
    return new(key="k", args=args, window=more.pop("window", QUIET), **more)


async def fresh(engine) -> str:
    """A worker that lives, whatever time has passed."""
    return await register(engine, make_id())


async def test_a_debounced_job_comes_in_delayed_by_its_delay_and_its_window(engine, clock):
    jobs = [again(), new(key="other", window=QUIET, delay=10)]
    answers = await engine.enqueue(jobs)
    assert [a.state for a in answers] == [State.DELAYED] * 2
    due = [(await read(engine, job.id)).due_at - clock.now() for job in jobs]
    assert due == [timedelta(seconds=30), timedelta(seconds=40)]
    assert await counts(engine) == {State.DELAYED: 2}


async def test_a_newcomer_replaces_what_the_job_will_do_and_is_answered_as_a_duplicate(engine, clock):
    first = again('{"n":1}', owner="ana", options='{"timeout":5}', priority=3)
    await engine.enqueue([first])
    clock.advance(20)
    [answer] = await engine.enqueue([again('{"n":2}', owner="ben", options='{"timeout":9}', priority=1)])
    assert answer == (first.id, State.DELAYED, True)
    job = await read(engine, first.id)
    assert (job.args, job.owner, job.options_json) == ({"n": 2}, "ben", '{"timeout":9}')
    assert (job.priority, job.state) == (Priority.CRITICAL, State.DELAYED)
    assert job.due_at == clock.now() + timedelta(seconds=30)
    clock.advance(31)
    await engine.stage(10)
    held = await claim(engine, worker=await fresh(engine))
    assert [(h.id, h.args, h.owner, h.priority) for h in held] == [(first.id, '{"n":2}', "ben", 1)]


async def test_the_newcomers_delay_and_window_say_how_long_it_is_put_off(engine, clock):
    job = await put(engine, key="k", window=QUIET)
    clock.advance(5)
    await engine.enqueue([again(window=Window("debounce", 100), delay=20)])
    assert (await read(engine, job)).due_at == clock.now() + timedelta(seconds=120)


async def test_it_runs_once_a_window_after_the_last_newcomer(engine, clock):
    job = await put(engine, key="k", window=QUIET)
    for n in range(5):
        clock.advance(20)
        await engine.stage(10)
        assert await claim(engine, worker=await fresh(engine)) == []
        await engine.enqueue([again(f'{{"n":{n}}}')])
    clock.advance(31)
    await engine.stage(10)
    [held] = await claim(engine, worker=await fresh(engine))
    assert (held.id, held.args, held.attempt) == (job, '{"n":4}', 1)
    assert await counts(engine) == {State.ACTIVE: 1}


async def test_a_job_that_is_due_but_not_begun_is_put_off_too(engine, clock):
    job = await put(engine, key="k", window=QUIET)
    clock.advance(31)
    await engine.stage(10)
    assert await state(engine, job) is State.WAITING
    [answer] = await engine.enqueue([again('{"n":2}')])
    assert answer == (job, State.DELAYED, True)
    assert await claim(engine, worker=await fresh(engine)) == []
    assert await counts(engine) == {State.DELAYED: 1}
    assert await engine.stage(10) == pytest.approx(30)


async def test_a_job_that_has_begun_is_left_alone_and_the_next_is_made(engine, clock):
    job = await put(engine, key="k", args='{"n":1}', window=QUIET)
    clock.advance(31)
    await engine.stage(10)
    [held] = await claim(engine, worker=await fresh(engine))
    second = again('{"n":2}')
    [answer] = await engine.enqueue([second])
    assert answer == (second.id, State.DELAYED, False)
    assert (await read(engine, job)).args == {"n": 1}
    await settle(engine, held, retried())
    await engine.enqueue([again('{"n":3}')])
    assert (await read(engine, job)).args == {"n": 1}
    assert (await read(engine, second.id)).args == {"n": 3}


async def test_of_several_in_one_call_the_last_one_wins(engine, clock):
    jobs = [again(f'{{"n":{n}}}') for n in range(3)]
    answers = await engine.enqueue(jobs)
    assert [(a.id, a.duplicate) for a in answers] == [(jobs[0].id, n > 0) for n in range(3)]
    assert (await read(engine, jobs[0].id)).args == {"n": 2}
    assert await counts(engine) == {State.DELAYED: 1}


async def test_a_debounced_job_that_ends_before_it_begins_lets_go_of_its_key(engine):
    job = await put(engine, key="k", window=QUIET)
    await engine.cancel([job], "no")
    [answer] = await engine.enqueue([again()])
    assert answer.duplicate is False


async def test_a_debounced_job_can_be_promoted_and_runs_with_the_last_payload(engine, worker):
    job = await put(engine, key="k", window=QUIET)
    await engine.enqueue([again('{"n":2}')])
    assert await engine.promote([job]) == 1
    [held] = await claim(engine)
    assert (held.id, held.args) == (job, '{"n":2}')


async def test_a_blocked_debounced_job_takes_the_newcomers_payload_and_stays_blocked(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    job = await put(engine, key="k", window=QUIET, ties=after(held.id))
    clock.advance(10)
    [answer] = await engine.enqueue([again('{"n":2}')])
    assert answer == (job, State.BLOCKED, True)
    await settle(engine, held)
    found = await read(engine, job)
    assert (found.state, found.args) == (State.DELAYED, {"n": 2})
    assert found.due_at == clock.now() + timedelta(seconds=30)


async def test_expiry_counts_from_the_due_time_the_job_was_put_off_to(engine, clock):
    job = await put(engine, key="k", window=QUIET, expire_after=10)
    clock.advance(20)
    await engine.enqueue([again()])
    assert (await read(engine, job)).expires_at == clock.now() + timedelta(seconds=40)


async def test_newcomers_of_other_keys_replace_nothing(engine):
    job = await put(engine, key="k", args='{"n":1}', window=QUIET)
    await engine.enqueue([new(key="other", args='{"n":2}', window=QUIET)])
    assert (await read(engine, job)).args == {"n": 1}
    assert await counts(engine) == {State.DELAYED: 2}


@pytest.mark.parametrize("before", [None, "a"])
@pytest.mark.parametrize("later", [None, "b"])
async def test_a_newcomer_takes_the_job_to_the_lane_of_its_own_limits(engine, clock, before, later):
    lanes = [None if key is None else limited_lane(GROUP, key) for key in (before, later)]
    await engine.enqueue([again(lane=lanes[0])])
    await engine.enqueue([again(lane=lanes[1], window=Window("debounce", 0))])
    assert await counts(engine) == {State.WAITING: 1}
    filled = [lane for lane in await engine.lanes(GROUP, 10) if lane.waiting]
    assert filled == ([] if later is None else [LaneState(lanes[1], 1, 0, None)])
    [held] = await claim(engine, worker=await fresh(engine))
    assert held.lane == (lanes[1] or QUEUE)


async def test_a_newcomer_that_is_parked_leaves_the_job_where_it_is(engine):
    await engine.enqueue([again()])
    await engine.enqueue([again(lane=parked_lane(QUEUE, Park(TASK, "closed")))])
    assert (await engine.jobs(JobFilter(), 10))[0].lane == QUEUE
