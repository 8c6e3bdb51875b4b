"""Ties: a job that waits for others is blocked until each has ended, and what becomes of it when one fails."""

import asyncio
from datetime import timedelta

import pytest

from conformance.kit import (
    FEEDS,
    QUEUE,
    after,
    claim,
    counts,
    end,
    failed,
    finish,
    ids,
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
from penstock.engine import JobFilter
from penstock.model.job import Edge, Ties
from penstock.model.outcome import COMPLETED, Cancelled, Released
from penstock.model.states import State

BAD_ENDS = [failed(), Cancelled("no")]
PATIENCE = 20.0


async def blocked(engine, upstream, on_failure="fail", **more) -> str:
    """Put one job in behind another that feeds; its id."""
    return await put(engine, ties=after(upstream, on_failure=on_failure, feeds=True), **more)


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
    assert done.id in ((await read(engine, second.id)).note or "")
    assert second.id in ((await read(engine, third.id)).note or "")


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


# -- when an upstream fails -------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
async def test_fail_cancels_the_job_with_a_note_that_names_the_upstream(engine, worker, clock, outcome):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(5)
    await settle(engine, held, outcome)
    job = await read(engine, second)
    assert (job.state, job.finished_at, job.attempt) == (State.CANCELLED, clock.now(), 0)
    assert held.id in (job.note or "")
    assert await engine.dead_letter(second) is None
    assert await counts(engine) == {outcome.state: 1} | {State.CANCELLED: 1 + isinstance(outcome, Cancelled)}


async def test_fail_goes_on_through_all_who_wait(engine, worker):
    held = await take(engine, ties=FEEDS)
    chain = [await blocked(engine, held.id)]
    for _ in range(3):
        chain.append(await blocked(engine, chain[-1]))
    side = await blocked(engine, held.id)
    await settle(engine, held, failed())
    assert [await state(engine, job) for job in [*chain, side]] == [State.CANCELLED] * 5
    assert chain[0] in ((await read(engine, chain[1])).note or "")


async def test_fail_of_one_upstream_does_not_wait_for_the_others(engine, worker):
    upstream = news(2)
    last = new(ties=after(*ids(upstream)))
    await engine.enqueue([*upstream, last])
    one, two = await claim(engine)
    await settle(engine, one, failed())
    assert await state(engine, last.id) is State.CANCELLED
    assert await settle(engine, two)
    assert await state(engine, last.id) is State.CANCELLED


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
async def test_ignore_resolves_that_edge_and_no_other(engine, worker, outcome):
    upstream = news(2)
    last = new(ties=after(*ids(upstream), on_failure="ignore"))
    await engine.enqueue([*upstream, last])
    one, two = await claim(engine)
    await settle(engine, one, outcome)
    assert (await read(engine, last.id)).blocked_by == (two.id,)
    await settle(engine, two)
    assert await state(engine, last.id) is State.WAITING


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
async def test_continue_lets_the_job_run_at_once_whatever_else_it_waits_for(engine, worker, outcome):
    upstream = news(2)
    last = new(ties=after(*ids(upstream), on_failure="continue"))
    await engine.enqueue([*upstream, last])
    one, two = await claim(engine)
    await settle(engine, one, outcome)
    assert (await read(engine, last.id)).blocked_by == ()
    [held] = await claim(engine)
    assert held.id == last.id
    await settle(engine, two, outcome)
    assert await settle(engine, held)


async def test_continue_waits_for_an_upstream_that_completes(engine, worker):
    upstream = news(2)
    last = new(ties=after(*ids(upstream), on_failure="continue"))
    await engine.enqueue([*upstream, last])
    one, _ = await claim(engine)
    await settle(engine, one)
    assert await state(engine, last.id) is State.BLOCKED


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
async def test_wait_leaves_the_job_blocked(engine, worker, outcome):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, "wait")
    third = await blocked(engine, second)
    await settle(engine, held, outcome)
    assert (await read(engine, second)).blocked_by == (held.id,)
    assert await state(engine, third) is State.BLOCKED


async def test_each_edge_has_its_own_rule(engine, worker):
    strict, loose = news(2)
    last = new(ties=Ties((Edge(strict.id, "fail"), Edge(loose.id, "ignore"))))
    await engine.enqueue([strict, loose, last])
    one, two = await claim(engine)
    await settle(engine, two, failed())
    assert (await read(engine, last.id)).blocked_by == (strict.id,)
    await settle(engine, one, failed())
    assert await state(engine, last.id) is State.CANCELLED


async def test_whoever_ignores_runs_where_another_is_cancelled(engine, worker):
    held = await take(engine, ties=FEEDS)
    strict, loose = await blocked(engine, held.id), await blocked(engine, held.id, "ignore")
    behind = await blocked(engine, strict, "ignore")
    await settle(engine, held, failed())
    assert await state(engine, strict) is State.CANCELLED
    assert set(ids(await claim(engine))) == {loose, behind}


# -- other ways in which an upstream ends -----------------------------------------------------------------


@pytest.mark.parametrize("on_failure", ["fail", "ignore"])
async def test_cancel_of_an_upstream_is_an_end(engine, worker, on_failure):
    first = await put(engine, ties=FEEDS)
    second = await blocked(engine, first, on_failure)
    assert await engine.cancel([first], "no") == [State.CANCELLED]
    assert await state(engine, second) is (State.CANCELLED if on_failure == "fail" else State.WAITING)


async def test_cancel_of_a_running_upstream_counts_when_its_run_has_ended(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    await engine.cancel([held.id], "no")
    assert await state(engine, second) is State.BLOCKED
    await settle(engine, held, Cancelled("cancelled while running"))
    assert await state(engine, second) is State.CANCELLED


async def test_a_run_that_would_go_on_but_was_cancelled_is_an_end(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    await engine.cancel([held.id], "no")
    await settle(engine, held, retried())
    assert [await state(engine, job) for job in (held.id, second)] == [State.CANCELLED] * 2


async def test_cancel_of_a_blocked_job_cancels_those_that_wait_for_it(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    third, loose = await blocked(engine, second), await blocked(engine, second, "ignore")
    assert await engine.cancel([second], "not wanted") == [State.CANCELLED]
    assert (await read(engine, second)).note == "not wanted"
    assert second in ((await read(engine, third)).note or "")
    assert await state(engine, loose) is State.WAITING
    await settle(engine, held)
    assert [await state(engine, job) for job in (second, third)] == [State.CANCELLED] * 2
    assert await counts(engine) == {State.COMPLETED: 1, State.CANCELLED: 2, State.WAITING: 1}


async def test_cancel_of_several_that_wait_for_each_other_answers_each(engine, worker):
    first = await put(engine, ties=FEEDS)
    second = await blocked(engine, first)
    assert await engine.cancel([first, second], "no") == [State.CANCELLED] * 2
    assert await counts(engine) == {State.CANCELLED: 2}


@pytest.mark.parametrize("on_failure", ["fail", "ignore"])
async def test_an_upstream_that_expires_has_ended(engine, worker, clock, on_failure):
    first = await put(engine, expire_after=10, ties=FEEDS)
    second = await blocked(engine, first, on_failure)
    clock.advance(11)
    await engine.expire(10)
    assert await state(engine, second) is (State.CANCELLED if on_failure == "fail" else State.WAITING)


async def test_an_upstream_that_fails_by_a_rescue_has_ended(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(31)
    await engine.rescue(10, lambda _: failed("crash-loop"))
    assert await state(engine, second) is State.CANCELLED


async def test_an_upstream_that_fails_as_its_worker_is_seen_dead_has_ended(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, "ignore")
    await engine.rescue_worker(worker, frozenset({held.token}), lambda _: failed("crashed"))
    assert await state(engine, second) is State.WAITING


async def test_an_upstream_that_is_rescued_to_run_again_has_not_ended(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(31)
    await engine.rescue(10, lambda _: Released("lost", suspect=True, rescued=True))
    assert await state(engine, second) is State.BLOCKED


async def test_deleting_the_record_of_a_finished_upstream_unblocks_nobody_twice(engine, worker):
    upstream = news(2)
    last = new(ties=after(*ids(upstream)))
    await engine.enqueue([*upstream, last])
    one, two = await claim(engine)
    await settle(engine, one)
    assert await engine.delete([one.id]) == 1
    assert await state(engine, last.id) is State.BLOCKED
    await settle(engine, two)
    assert await state(engine, last.id) is State.WAITING


# -- due time and expiry ----------------------------------------------------------------------------------


async def test_an_unblocked_job_is_due_now_where_its_due_time_has_passed(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, delay=10, expire_after=10)
    clock.advance(25)
    await settle(engine, held)
    job = await read(engine, second)
    assert (job.state, job.due_at) == (State.WAITING, clock.now())
    assert job.expires_at == clock.now() + timedelta(seconds=10)


async def test_an_unblocked_job_keeps_a_due_time_that_is_still_to_come(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    begun = clock.now()
    second = await blocked(engine, held.id, delay=60, expire_after=10)
    clock.advance(5)
    await settle(engine, held)
    job = await read(engine, second)
    assert (job.state, job.due_at) == (State.DELAYED, begun + timedelta(seconds=60))
    assert job.expires_at == begun + timedelta(seconds=70)
    assert await engine.stage(10) == pytest.approx(55)


async def test_an_unblocked_job_stands_by_the_time_it_came_free(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(5)
    before = await put(engine)
    clock.advance(5)
    await settle(engine, held)
    assert ids(await claim(engine)) == [before, second]


async def test_a_blocked_job_does_not_expire(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, expire_after=10)
    clock.advance(20)
    assert await engine.expire(10) == 0
    assert await state(engine, second) is State.BLOCKED
    await settle(engine, held)
    clock.advance(9)
    assert await engine.expire(10) == 0
    clock.advance(2)
    assert await engine.expire(10) == 1
    assert await state(engine, second) is State.CANCELLED


async def test_a_blocked_job_is_neither_staged_promoted_rescheduled_nor_deleted(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id, delay=5)
    clock.advance(10)
    assert await engine.stage(10) is None
    assert await engine.promote([second]) == 0
    assert await engine.reschedule([second], 0) == 0
    assert await engine.delete([second]) == 0
    assert await state(engine, second) is State.BLOCKED


# -- the deadline -----------------------------------------------------------------------------------------


async def late(engine, at_deadline, **more) -> tuple[str, str]:
    """A job whose upstream never comes, and one behind it."""
    ties = after(new().id, feeds=True, deadline=60, at_deadline=at_deadline)
    job = await put(engine, ties=ties, **more)
    return job, await blocked(engine, job)


@pytest.mark.parametrize("at_deadline", ["skip", "run", "fail"])
async def test_before_its_deadline_a_job_stays_blocked(engine, clock, at_deadline):
    job, _ = await late(engine, at_deadline)
    clock.advance(59)
    assert await engine.expire(10) == 0
    assert await state(engine, job) is State.BLOCKED


async def test_skip_cancels_a_job_at_its_deadline(engine, clock):
    job, behind = await late(engine, "skip")
    clock.advance(61)
    assert await engine.expire(10) >= 1
    found = await read(engine, job)
    assert (found.state, found.finished_at) == (State.CANCELLED, clock.now())
    assert found.note
    assert await engine.dead_letter(job) is None
    assert await state(engine, behind) is State.CANCELLED


async def test_run_lets_a_job_go_at_its_deadline(engine, worker, clock):
    job, behind = await late(engine, "run", expire_after=10)
    clock.advance(61)
    assert await engine.expire(10) == 1
    found = await read(engine, job)
    assert (found.state, found.due_at, found.blocked_by) == (State.WAITING, clock.now(), ())
    assert found.expires_at == clock.now() + timedelta(seconds=10)
    await register(engine, "later")
    [held] = await claim(engine, worker="later")
    assert held.id == job
    await settle(engine, held)
    assert await state(engine, behind) is State.WAITING


async def test_fail_makes_a_dead_letter_at_the_deadline(engine, clock):
    job, behind = await late(engine, "fail", args='{"n":1}')
    clock.advance(61)
    assert await engine.expire(10) >= 1
    found, dead = await read(engine, job), await engine.dead_letter(job)
    assert (found.state, found.attempt) == (State.FAILED, 0)
    assert dead is not None
    assert (dead.reason, dead.args, dead.attempts) == ("upstream-missing", {"n": 1}, 0)
    assert (dead.failed_at, dead.first_started_at) == (clock.now(), None)
    assert await engine.dead_count() == 1
    assert await state(engine, behind) is State.CANCELLED


async def test_a_deadline_sweep_is_bounded(engine, clock):
    for _ in range(3):
        await put(engine, ties=after(new().id, deadline=10))
    clock.advance(11)
    assert [await engine.expire(2) for _ in range(3)] == [2, 1, 0]
    assert await counts(engine) == {State.CANCELLED: 3}


async def test_the_deadline_of_a_job_that_came_free_means_nothing(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, deadline=10))
    await settle(engine, held)
    clock.advance(11)
    assert await engine.expire(10) == 0
    assert await state(engine, second) is State.WAITING


async def test_an_upstream_that_ends_after_the_deadline_changes_nothing(engine, worker, clock):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, deadline=10))
    clock.advance(11)
    assert await engine.expire(10) == 1
    assert await settle(engine, held)
    assert await state(engine, second) is State.CANCELLED


# -- engines at once --------------------------------------------------------------------------------------


async def test_the_last_two_upstreams_end_at_once_and_the_job_comes_free_once(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        upstream = news(2)
        last = new(ties=after(*ids(upstream)))
        await one.enqueue([*upstream, last])
        left, right = await claim(one)
        assert await asyncio.gather(settle(one, left), settle(two, right)) == [True, True]
        [held] = await claim(two)
        assert held.id == last.id
        await settle(one, held)


async def test_a_job_put_in_while_its_upstream_ends_comes_free(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        held = await take(one, ties=FEEDS)
        second, _ = await asyncio.gather(blocked(two, held.id), settle(one, held))
        [held] = await claim(one)
        assert held.id == second
        await settle(one, held)


async def test_a_job_put_in_while_its_upstream_comes_and_ends_is_free_in_the_end(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    for _ in range(15):
        upstream = new(ties=FEEDS)
        second, _ = await asyncio.gather(blocked(two, upstream.id), one.enqueue([upstream]))
        [held] = await claim(one)
        await settle(one, held, COMPLETED)
        [held] = await claim(one)
        assert held.id == second
        await settle(one, held)
