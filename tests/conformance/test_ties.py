"""Ties: a job that waits for others is blocked until each has ended."""

import asyncio
from datetime import timedelta

import pytest

from conformance.kit import (
    FEEDS,
    QUEUE,
    after,
    blocked,
    claim,
    counts,
    end,
    failed,
    finish,
    ids,
    make_id,
    new,
    news,
    parked,
    put,
    read,
    register,
    retried,
    settle,
    snoozed,
    state,
    take,
)
from penstock.engine import JobFilter, Recovery
from penstock.model.job import Edge, Ties, Window
from penstock.model.outcome import UPSTREAM_FAILED, Cancelled, Released
from penstock.model.states import State

BAD_ENDS = [failed(), Cancelled("no")]
PATIENCE = 20.0


# -- edges ------------------------------------------------------------------------------------------------


async def test_a_job_that_waits_for_another_is_blocked_and_not_claimed(engine, worker):
    first = new()
    second = new(ties=after(first.id))
    answers = await engine.enqueue([first, second])
    assert [a.state for a in answers] == [State.WAITING, State.BLOCKED]
    assert ids(await claim(engine)) == [first.id]
    assert await claim(engine) == []


async def test_a_blocked_job_says_for_whom_it_waits(engine, worker, clock):
    first, second = news(2)
    third = new(ties=after(first.id, second.id, deadline=60, origin="by hand"))
    await engine.enqueue([first, second, third])
    job = await read(engine, third.id)
    assert (job.after, set(job.blocked_by)) == ((first.id, second.id), {first.id, second.id})
    assert (job.deadline_at, job.origin) == (clock.now() + timedelta(seconds=60), "by hand")
    assert job.status == "pending"
    [held] = await claim(engine, limit=1)
    await settle(engine, held)
    assert (await read(engine, third.id)).blocked_by == (second.id,)
    [held] = await claim(engine)
    await settle(engine, held)
    job = await read(engine, third.id)
    assert (job.state, job.after, job.blocked_by) == (State.WAITING, (first.id, second.id), ())
    [held] = await claim(engine)
    await settle(engine, held)
    job = await read(engine, third.id)
    assert (job.state, job.after, job.origin) == (State.COMPLETED, (first.id, second.id), "by hand")


async def test_blocked_jobs_are_counted_listed_and_found(engine, worker):
    first = new(ties=FEEDS)
    waits = [new(ties=after(first.id)) for _ in range(2)]
    await engine.enqueue([first, *waits])
    assert await counts(engine) == {State.WAITING: 1, State.BLOCKED: 2}
    assert ids(await engine.jobs(JobFilter(state=State.BLOCKED), 10)) == ids(waits)[::-1]
    assert ids(await engine.jobs(JobFilter(queue=QUEUE), 10)) == [*ids(waits)[::-1], first.id]
    [held] = await claim(engine)
    await settle(engine, held)
    assert await counts(engine) == {State.COMPLETED: 1, State.WAITING: 2}
    assert await engine.jobs(JobFilter(state=State.BLOCKED), 10) == []


async def test_a_job_becomes_due_only_when_the_last_of_its_upstreams_has_completed(engine, worker):
    upstream = news(3)
    last = new(ties=after(*ids(upstream)))
    await engine.enqueue([*upstream, last])
    for held in await claim(engine):
        assert await state(engine, last.id) is State.BLOCKED
        await settle(engine, held)
    assert ids(await claim(engine)) == [last.id]


async def test_upstreams_that_end_in_one_call_all_count(engine, worker):
    upstream = news(3)
    last = new(ties=after(*ids(upstream)))
    await engine.enqueue([*upstream, last])
    await engine.settle([end(held) for held in await claim(engine)])
    assert await state(engine, last.id) is State.WAITING


async def test_the_same_upstream_named_twice_counts_once(engine, worker):
    first = new()
    second = new(ties=Ties((Edge(first.id), Edge(first.id))))
    await engine.enqueue([first, second])
    [held] = await claim(engine)
    await settle(engine, held)
    assert await state(engine, second.id) is State.WAITING


async def test_the_order_within_one_call_does_not_matter(engine, worker):
    first = new()
    second = new(ties=after(first.id))
    answers = await engine.enqueue([second, first])
    assert [a.state for a in answers] == [State.BLOCKED, State.WAITING]
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [second.id]


async def test_a_chain_runs_link_by_link(engine, worker):
    chain = [new()]
    for _ in range(4):
        chain.append(new(ties=after(chain[-1].id)))
    await engine.enqueue(chain)
    for link in chain:
        [held] = await claim(engine)
        assert held.id == link.id
        await settle(engine, held)
    assert await counts(engine) == {State.COMPLETED: 5}


async def test_an_upstream_may_be_in_another_queue(engine, worker):
    first = new("other")
    second = new(ties=after(first.id))
    await engine.enqueue([first, second])
    [held] = await claim(engine, "other")
    await settle(engine, held)
    assert await counts(engine) == {State.WAITING: 1}
    assert ids(await claim(engine)) == [second.id]


@pytest.mark.parametrize("outcome", [retried(), retried(60), snoozed(), snoozed(60), Released(), parked()])
async def test_an_upstream_that_runs_again_has_not_ended(engine, worker, outcome):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    await settle(engine, held, outcome)
    assert await state(engine, second) is State.BLOCKED


async def test_an_upstream_that_leaves_no_record_has_ended_too(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    await settle(engine, held, keep=False)
    assert await state(engine, second) is State.WAITING


async def test_enqueueing_again_changes_nothing(engine, worker):
    first = new()
    second = new(ties=after(first.id))
    answers = await engine.enqueue([first, second])
    assert await engine.enqueue([first, second], again=True) == answers
    assert await counts(engine) == {State.WAITING: 1, State.BLOCKED: 1}
    [held] = await claim(engine)
    await settle(engine, held)
    [_, again] = await engine.enqueue([first, second], again=True)
    assert (again.state, again.duplicate) == (State.WAITING, False)
    assert ids(await claim(engine)) == [second.id]


async def test_one_who_waits_is_woken_when_a_job_is_unblocked(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    held = await take(one, "other", ties=FEEDS)
    await blocked(one, held.id)
    waiting = asyncio.create_task(two.wait([QUEUE], 600))
    await asyncio.sleep(0)
    await settle(one, held)
    async with asyncio.timeout(PATIENCE):
        await waiting


# -- upstreams from other calls ---------------------------------------------------------------------------


async def test_a_job_can_wait_for_one_that_was_put_in_before(engine, worker):
    first = await put(engine, ties=FEEDS)
    second = await blocked(engine, first)
    assert await state(engine, second) is State.BLOCKED
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [second]


async def test_a_job_can_wait_for_one_that_runs_already(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    assert await state(engine, second) is State.BLOCKED
    await settle(engine, held)
    assert await state(engine, second) is State.WAITING


async def test_a_job_can_wait_for_one_that_has_not_come_yet(engine, worker):
    later = new(ties=FEEDS)
    second = await blocked(engine, later.id)
    assert (await read(engine, second)).blocked_by == (later.id,)
    await engine.enqueue([later])
    assert await state(engine, second) is State.BLOCKED
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [second]


async def test_an_upstream_that_completed_already_blocks_nobody(engine, worker):
    done = await finish(engine, ties=FEEDS)
    job = new(ties=after(done.id))
    [answer] = await engine.enqueue([job])
    assert answer.state is State.WAITING
    found = await read(engine, job.id)
    assert (found.after, found.blocked_by) == ((done.id,), ())
    assert ids(await claim(engine)) == [job.id]


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
@pytest.mark.parametrize(
    ("on_failure", "becomes"),
    [
        ("fail", State.CANCELLED),
        ("ignore", State.WAITING),
        ("continue", State.WAITING),
        ("wait", State.BLOCKED),
    ],
)
async def test_an_upstream_that_failed_already_counts_as_one_that_fails_now(
    engine, worker, outcome, on_failure, becomes
):
    done = await finish(engine, ties=FEEDS, outcome=outcome)
    job = new(ties=after(done.id, on_failure=on_failure))
    [answer] = await engine.enqueue([job])
    assert (answer.state, await state(engine, job.id)) == (becomes, becomes)
    assert await counts(engine) == {outcome.state: 1} | {becomes: 1 + (becomes is outcome.state)}


async def test_a_job_cancelled_as_it_is_put_in_names_the_upstream_and_cancels_the_next(engine, worker):
    done = await finish(engine, ties=FEEDS, outcome=failed())
    second = new(ties=after(done.id))
    third = new(ties=after(second.id))
    answers = await engine.enqueue([second, third])
    assert [a.state for a in answers] == [State.CANCELLED] * 2
    assert (await read(engine, second.id)).note == UPSTREAM_FAILED.format(id=done.id)
    assert (await read(engine, third.id)).note == UPSTREAM_FAILED.format(id=second.id)


# -- keys that are taken ----------------------------------------------------------------------------------


async def test_an_edge_to_a_duplicate_of_the_same_call_leads_to_the_holder(engine, worker):
    holder = await put(engine, key="k", ties=FEEDS)
    double = new(key="k")
    second = new(ties=after(double.id))
    [answer, _] = await engine.enqueue([double, second])
    assert (answer.id, answer.duplicate) == (holder, True)
    assert (await read(engine, second.id)).blocked_by == (holder,)
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [second.id]


async def test_an_edge_to_a_duplicate_whose_holder_has_completed_is_resolved(engine, worker):
    await finish(engine, key="k")
    double = new(key="k")
    second = new(ties=after(double.id))
    answers = await engine.enqueue([double, second])
    assert [(a.state, a.duplicate) for a in answers] == [(State.COMPLETED, True), (State.WAITING, False)]


async def test_an_edge_to_a_duplicate_whose_holder_has_left_no_record_is_resolved(engine, worker):
    held = await take(engine, key="k", window=Window("period", 60))
    await settle(engine, held, keep=False)
    double = new(key="k", window=Window("period", 60))
    second = new(ties=after(double.id))
    answers = await engine.enqueue([double, second])
    assert [(a.state, a.duplicate) for a in answers] == [(State.COMPLETED, True), (State.WAITING, False)]
    assert ids(await claim(engine)) == [second.id]


async def test_an_upstream_that_has_come_and_left_no_record_blocks_nobody(engine, worker):
    held = await take(engine, ties=FEEDS)
    await settle(engine, held, keep=False)
    other = await put(engine, "other")
    edges = Edge(held.id, "wait", has_come=True), Edge(other, "fail", has_come=True)
    job = await put(engine, ties=Ties(edges, deadline=60))
    assert (await read(engine, job)).blocked_by == (other,)
    await settle(engine, *await claim(engine, "other"))
    assert ids(await claim(engine)) == [job]


async def test_an_upstream_that_failed_and_left_its_dead_letter_only_is_waited_for(engine, worker):
    held = await finish(engine, outcome=failed(), ties=FEEDS)
    assert await engine.delete([held.id]) == 1
    job = await put(engine, ties=Ties((Edge(held.id, "wait", has_come=True),)))
    assert await state(engine, job) is State.BLOCKED
    await engine.recover([Recovery(held.id, make_id())])
    await settle(engine, *await claim(engine))
    assert ids(await claim(engine)) == [job]


async def test_two_of_one_call_with_the_same_key_are_one_upstream(engine, worker):
    first, double = new(key="k"), new(key="k")
    last = new(ties=after(first.id, double.id))
    await engine.enqueue([first, double, last])
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [last.id]


async def test_a_blocked_job_holds_its_key(engine, worker):
    first = new()
    second = new(key="k", ties=after(first.id))
    await engine.enqueue([first, second])
    [answer] = await engine.enqueue([new(key="k")])
    assert (answer.id, answer.state, answer.duplicate) == (second.id, State.BLOCKED, True)
