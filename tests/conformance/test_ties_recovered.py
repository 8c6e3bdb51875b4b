"""Ties across a recovery: whoever waits for a job that failed, waits for the one it is recovered as."""

from conformance.kit import (
    FEEDS,
    QUEUE,
    after,
    claim,
    failed,
    finish,
    ids,
    make_id,
    new,
    put,
    read,
    settle,
    state,
    take,
)
from penstock.engine import Recovery, Retention
from penstock.model.job import Edge, FlowName, Ties
from penstock.model.outcome import COMPLETED
from penstock.model.states import State

NOTHING_KEPT = Retention(QUEUE, keep_completed=0, keep_failed=0)


async def recover(engine, dead_id) -> str:
    heir = new().id
    assert await engine.recover([Recovery(dead_id, heir)]) == [heir]
    return heir


async def test_wait_goes_on_when_the_recovered_job_completes(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, on_failure="wait"))
    await settle(engine, held, failed())
    heir = await recover(engine, held.id)
    assert (await read(engine, second)).blocked_by == (heir,)
    [again] = await claim(engine)
    assert again.id == heir
    await settle(engine, again)
    assert ids(await claim(engine)) == [second]


async def test_wait_goes_on_through_several_recoveries(engine, worker):
    held = await take(engine, ties=FEEDS)
    second = await put(engine, ties=after(held.id, on_failure="wait"))
    for _ in range(2):
        await settle(engine, held, failed())
        await recover(engine, held.id)
        assert await state(engine, second) is State.BLOCKED
        [held] = await claim(engine)
    await settle(engine, held)
    assert await state(engine, second) is State.WAITING


async def test_wait_leads_to_the_latest_heir_of_a_job_that_has_been_recovered_already(engine, worker):
    first = await finish(engine, ties=FEEDS, outcome=failed())
    second = await recover(engine, first.id)
    [held] = await claim(engine)
    await settle(engine, held, failed())
    third = await recover(engine, second)
    job = await put(engine, ties=after(first.id, on_failure="wait"))
    assert (await read(engine, job)).blocked_by == (third,)
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [job]
    late = await put(engine, ties=after(first.id, on_failure="wait"))
    assert await state(engine, late) is State.WAITING


async def test_only_those_who_wait_are_pointed_to_the_recovered_job(engine, worker):
    held = await take(engine, ties=FEEDS)
    rules = ("fail", "ignore", "continue")
    others = [await put(engine, ties=after(held.id, on_failure=rule)) for rule in rules]
    await settle(engine, held, failed())
    before = [await read(engine, job) for job in others]
    await recover(engine, held.id)
    assert [await read(engine, job) for job in others] == before


async def test_a_job_that_waits_for_several_still_waits_for_all(engine, worker):
    one, two = await finish(engine, ties=FEEDS, outcome=failed()), await take(engine, ties=FEEDS)
    last = await put(engine, ties=after(one.id, two.id, on_failure="wait"))
    heir = await recover(engine, one.id)
    assert set((await read(engine, last)).blocked_by) == {heir, two.id}
    [again] = await claim(engine)
    await settle(engine, again)
    assert (await read(engine, last)).blocked_by == (two.id,)
    await settle(engine, two)
    assert await state(engine, last) is State.WAITING


async def test_a_blocked_job_that_failed_at_its_deadline_is_recovered_without_its_edges(engine, clock):
    never = new().id
    job = await put(engine, ties=after(never, deadline=10, at_deadline="fail"))
    clock.advance(11)
    await engine.expire(10)
    heir = await recover(engine, job)
    found = await read(engine, heir)
    assert (found.state, found.blocked_by, found.deadline_at) == (State.WAITING, (), None)


# -- the recovered job stands where the first one stood ---------------------------------------------------


async def failed_member(engine) -> tuple[FlowName, str, str]:
    """A flow of two, of which the first completed and the second failed: its name, and both ids."""
    flow = FlowName(make_id(), "course")
    first = new(ties=Ties(flow=flow))
    second = new(ties=Ties((Edge(first.id),), flow=flow))
    await engine.enqueue([first, second])
    for outcome in (COMPLETED, failed()):
        await settle(engine, *await claim(engine), outcome)
    return flow, first.id, second.id


async def test_a_recovered_job_has_waited_for_whom_the_first_has(engine, worker):
    _, first, second = await failed_member(engine)
    heir = await read(engine, await recover(engine, second))
    assert (heir.after, heir.blocked_by, heir.state) == ((first,), (), State.WAITING)


async def test_a_recovered_member_is_a_member(engine, worker):
    flow, first, second = await failed_member(engine)
    heir = await recover(engine, second)
    found = await engine.flow(flow.id)
    assert (ids(found.jobs), found.unfinished, found.name) == ([first, second, heir], 1, flow.name)
    assert (await read(engine, heir)).flow == flow.id
    await settle(engine, *await claim(engine))
    assert (await engine.flow(flow.id)).unfinished == 0


async def test_the_others_are_kept_until_a_recovered_member_has_ended(engine, worker):
    flow, first, second = await failed_member(engine)
    heir = await recover(engine, second)
    assert await engine.prune(NOTHING_KEPT, 10) == 0
    assert ids((await engine.flow(flow.id)).jobs) == [first, second, heir]
    await settle(engine, *await claim(engine))
    assert await engine.prune(NOTHING_KEPT, 10) == 3
    await engine.tidy()
    assert await engine.flow(flow.id) is None


async def test_a_flow_that_is_under_way_counts_a_recovered_member(engine, worker):
    flow = FlowName(make_id(), "course")
    first = new(ties=Ties(flow=flow))
    second = new(ties=Ties((Edge(first.id, "wait"),), flow=flow))
    await engine.enqueue([first, second])
    await settle(engine, *await claim(engine), failed())
    heir = await recover(engine, first.id)
    assert (await engine.flow(flow.id)).unfinished == 2
    for job in (heir, second.id):
        [held] = await claim(engine)
        assert held.id == job
        await settle(engine, held)
    assert (await engine.flow(flow.id)).unfinished == 0
    assert await engine.prune(NOTHING_KEPT, 10) == 3


async def test_a_recovered_member_can_fail_and_be_recovered_again(engine, worker):
    flow, first, second = await failed_member(engine)
    heir = await recover(engine, second)
    await settle(engine, *await claim(engine), failed())
    last = await recover(engine, heir)
    assert (await read(engine, last)).after == (first,)
    assert ids((await engine.flow(flow.id)).jobs) == [first, second, heir, last]


async def test_a_job_of_which_only_the_dead_letter_is_left_is_recovered_outside_its_flow(engine, worker):
    flow, first, second = await failed_member(engine)
    await engine.delete([second])
    heir = await read(engine, await recover(engine, second))
    assert (heir.flow, heir.after) == (None, ())
    assert ids((await engine.flow(flow.id)).jobs) == [first]
