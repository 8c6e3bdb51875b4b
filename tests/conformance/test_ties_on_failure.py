"""Ties: what becomes of those who wait for a job that fails or is cancelled, however that comes about."""

import pytest

from conformance.kit import (
    FEEDS,
    after,
    blocked,
    claim,
    counts,
    failed,
    ids,
    new,
    news,
    put,
    read,
    retried,
    settle,
    state,
    take,
)
from penstock.model.job import Edge, Ties
from penstock.model.outcome import UPSTREAM_FAILED, Cancelled, Released
from penstock.model.states import State

BAD_ENDS = [failed(), Cancelled("no")]


# -- when an upstream fails -------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", BAD_ENDS, ids=lambda o: o.verb)
async def test_fail_cancels_the_job_with_a_note_that_names_the_upstream(engine, worker, clock, outcome):
    held = await take(engine, ties=FEEDS)
    second = await blocked(engine, held.id)
    clock.advance(5)
    await settle(engine, held, outcome)
    job = await read(engine, second)
    assert (job.state, job.finished_at, job.attempt) == (State.CANCELLED, clock.now(), 0)
    assert job.note == UPSTREAM_FAILED.format(id=held.id)
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
    assert (await read(engine, chain[1])).note == UPSTREAM_FAILED.format(id=chain[0])


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
    assert (await read(engine, third)).note == UPSTREAM_FAILED.format(id=second)
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
