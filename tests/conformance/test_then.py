"""Jobs that follow: what a run enqueues is put in by the step that completes it, or not at all."""

import asyncio

import pytest

from conformance.kit import (
    EVERY_OUTCOME,
    after,
    claim,
    counts,
    end,
    gone,
    ids,
    name_of,
    new,
    news,
    put,
    read,
    register,
    settle,
    state,
    take,
    want,
)
from penstock.model.job import Window
from penstock.model.outcome import COMPLETED, Cancelled, Completed
from penstock.model.states import State


async def test_a_run_that_completes_puts_its_followers_in(engine, worker, clock):
    held = await take(engine)
    follower = new("other", args='{"n":1}', owner="ana", priority=2, delay=5)
    clock.advance(10)
    assert await settle(engine, held, then=[follower])
    job = await read(engine, follower.id)
    assert (job.queue, job.args, job.owner, job.state) == ("other", {"n": 1}, "ana", State.DELAYED)
    assert job.created_at == clock.now()
    assert await counts(engine, "other") == {State.DELAYED: 1}


async def test_a_run_that_found_nothing_to_do_completes_too(engine, worker):
    held = await take(engine)
    follower = new()
    assert await settle(engine, held, Completed(note="no-op: done already"), then=[follower])
    assert await state(engine, follower.id) is State.WAITING


@pytest.mark.parametrize("outcome", [o for o in EVERY_OUTCOME if o is not COMPLETED], ids=name_of)
async def test_a_run_that_does_not_complete_puts_nothing_in(engine, worker, outcome):
    held = await take(engine)
    follower = new(key="k")
    assert await settle(engine, held, outcome, then=[follower])
    assert await engine.get(follower.id) is None
    assert (await engine.enqueue([new(key="k")]))[0].duplicate is False


async def test_a_holder_that_lost_the_job_puts_nothing_in(engine, worker, clock):
    held = await take(engine)
    clock.advance(31)
    await engine.rescue(10, gone)
    follower = new()
    assert not await settle(engine, held, then=[follower])
    assert await engine.get(follower.id) is None
    assert await counts(engine) == {State.WAITING: 1}


async def test_a_run_that_completes_although_it_was_asked_to_stop_puts_its_followers_in(engine, worker):
    held = await take(engine)
    await engine.cancel([held.id], "no")
    follower = new()
    assert await settle(engine, held, then=[follower])
    assert await state(engine, follower.id) is State.WAITING


async def test_a_run_that_leaves_no_record_puts_its_followers_in(engine, worker):
    held = await take(engine)
    follower = new()
    assert await settle(engine, held, keep=False, then=[follower])
    assert await engine.get(held.id) is None
    assert await state(engine, follower.id) is State.WAITING


async def test_settling_again_puts_nothing_in_twice(engine, worker):
    held = await take(engine)
    follower = new()
    assert await settle(engine, held, then=[follower])
    assert await settle(engine, held, then=[follower], again=True)
    assert await counts(engine) == {State.COMPLETED: 1, State.WAITING: 1}
    [taken] = await claim(engine)
    await settle(engine, taken)
    assert await settle(engine, held, then=[follower], again=True)
    assert await counts(engine) == {State.COMPLETED: 2}


async def test_settling_again_does_what_the_first_call_did_not(engine, worker):
    held = await take(engine)
    follower = new()
    assert await settle(engine, held, then=[follower], again=True)
    assert await state(engine, follower.id) is State.WAITING


async def test_several_runs_put_in_their_own_and_only_those_accepted(engine, worker, clock):
    lost = await take(engine)
    await engine.rescue_worker(worker, frozenset({lost.token}), lambda _: Cancelled("no"))
    await register(engine, "next")
    jobs = news(2)
    await engine.enqueue(jobs)
    one, two = await claim(engine, worker="next")
    followers = [news(2), news(1), news(1)]
    ends = [end(h, then=f) for h, f in zip((one, lost, two), followers, strict=True)]
    assert (await engine.settle(ends)).accepted == [True, False, True]
    made = [*followers[0], *followers[2]]
    assert [await state(engine, job.id) for job in made] == [State.WAITING] * 3
    assert await engine.get(followers[1][0].id) is None
    assert ids(await claim(engine, worker="next")) == ids(made)


async def test_a_follower_whose_key_is_taken_is_not_made(engine, worker):
    holder = await put(engine, "other", key="k")
    held = await take(engine)
    double, other = new("other", key="k"), new("other")
    assert await settle(engine, held, then=[double, other])
    assert await engine.get(double.id) is None
    assert await state(engine, other.id) is State.WAITING
    assert (await engine.enqueue([new("other", key="k")]))[0].id == holder


async def test_two_followers_with_one_key_are_one(engine, worker):
    held = await take(engine)
    one, two = new("other", key="k"), new("other", key="k")
    assert await settle(engine, held, then=[one, two])
    assert await counts(engine, "other") == {State.WAITING: 1}


async def test_followers_can_have_ties(engine, worker):
    held = await take(engine)
    first = new(ties=after(held.id))
    second = new(ties=after(first.id))
    assert await settle(engine, held, then=[first, second])
    assert [await state(engine, job.id) for job in (first, second)] == [State.WAITING, State.BLOCKED]
    [taken] = await claim(engine)
    await settle(engine, taken)
    assert ids(await claim(engine)) == [second.id]


async def test_followers_can_be_claimed_at_once(engine, worker):
    held = await take(engine)
    follower = new()
    settled = await engine.settle([end(held, then=[follower])], want())
    claims = settled.claims or await claim(engine)
    assert ids(claims) == [follower.id]


async def test_a_job_that_chains_itself_goes_on_until_it_does_not(engine, worker):
    held = await take(engine, key="page-0")
    for page in range(1, 5):
        await settle(engine, held, then=[new(key=f"page-{page}")])
        [held] = await claim(engine)
    await settle(engine, held)
    assert await counts(engine) == {State.COMPLETED: 5}


async def test_one_who_waits_for_the_followers_queue_is_woken(make_engine):
    one, two = await make_engine(), await make_engine()
    await register(one)
    held = await take(one)
    waiting = asyncio.create_task(two.wait(["other"], 600))
    await asyncio.sleep(0)
    await settle(one, held, then=[new("other")])
    async with asyncio.timeout(20):
        await waiting


async def test_a_follower_may_take_the_key_that_the_run_gives_up_by_ending(engine, worker):
    held = await take(engine, key="tick", window=Window("unfinished"))
    follower = new(key="tick", window=Window("unfinished"))
    assert await settle(engine, held, then=[follower])
    assert await state(engine, follower.id) is State.WAITING
