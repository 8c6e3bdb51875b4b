"""Flows: jobs put in as one are shown as one, and kept until the last of them has ended."""

import asyncio

import pytest

from conformance.kit import (
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
    put,
    register,
    settle,
    state,
    want,
)
from penstock.engine import Flow, JobFilter, Retention
from penstock.model.job import Edge, FlowName, NewJob, Ties
from penstock.model.outcome import Cancelled, Completed
from penstock.model.states import State

NOTHING_KEPT = Retention(QUEUE, keep_completed=0, keep_failed=0, max_age=0)


def flow_of(*upstreams: tuple[int, ...], name: str = "course", **more) -> tuple[FlowName, list[NewJob]]:
    """A flow; each job is given as the places of those it waits for."""
    flow, jobs = FlowName(make_id(), name), []
    for places in upstreams:
        edges = tuple(Edge(jobs[place].id) for place in places)
        jobs.append(new(ties=Ties(edges, flow=flow), **more))
    return flow, jobs


async def seen(engine, flow: FlowName) -> Flow:
    found = await engine.flow(flow.id)
    assert found is not None
    return found


# -- what is shown ----------------------------------------------------------------------------------------


async def test_a_flow_shows_its_members_in_the_order_in_which_they_were_put_in(engine, clock):
    flow, jobs = flow_of((), (0,), (0,), (1, 2))
    await engine.enqueue(jobs)
    found = await seen(engine, flow)
    assert (found.id, found.name, found.created_at, found.unfinished) == (*flow, clock.now(), 4)
    assert ids(found.jobs) == ids(jobs)
    assert [job.flow for job in found.jobs] == [flow.id] * 4
    assert [job.state for job in found.jobs] == [State.WAITING, *[State.BLOCKED] * 3]
    assert [job.after for job in found.jobs] == [
        (), (jobs[0].id,), (jobs[0].id,), (jobs[1].id, jobs[2].id),
    ]  # fmt: skip


async def test_the_order_is_not_that_of_the_ids(engine):
    flow, jobs = flow_of((), (), ())
    jobs = [jobs[1], jobs[2], jobs[0]]
    await engine.enqueue(jobs)
    assert ids((await seen(engine, flow)).jobs) == ids(jobs)


async def test_unfinished_members_are_counted_down_however_they_end(engine, worker):
    flow, jobs = flow_of((), (), (), (), (0,))
    await engine.enqueue(jobs)
    one, two, three, _ = await claim(engine)
    await settle(engine, one)
    assert (await seen(engine, flow)).unfinished == 4
    await settle(engine, two, failed())
    await settle(engine, three)
    assert (await seen(engine, flow)).unfinished == 2
    await engine.cancel([jobs[4].id], "no")
    assert (await seen(engine, flow)).unfinished == 1
    assert ids((await seen(engine, flow)).jobs) == ids(jobs)


async def test_a_failure_ends_all_that_wait_for_it(engine, worker):
    flow, jobs = flow_of((), (0,), (1,), (2,))
    await engine.enqueue(jobs)
    [held] = await claim(engine)
    await settle(engine, held, failed())
    found = await seen(engine, flow)
    assert found.unfinished == 0
    assert [job.state for job in found.jobs] == [State.FAILED, *[State.CANCELLED] * 3]


async def test_a_job_put_in_later_can_join_a_flow(engine, worker):
    flow, jobs = flow_of(())
    await engine.enqueue(jobs)
    [held] = await claim(engine)
    guest = new(ties=Ties(flow=flow))
    await engine.settle([end(held, then=[guest])])
    found = await seen(engine, flow)
    assert (ids(found.jobs), found.unfinished) == ([jobs[0].id, guest.id], 1)


async def test_a_member_whose_key_was_taken_is_not_a_member(engine, worker):
    holder = await put(engine, key="k")
    flow, [first] = flow_of(())
    double = new(key="k", ties=Ties(flow=flow))
    await engine.enqueue([first, double])
    found = await seen(engine, flow)
    assert (ids(found.jobs), found.unfinished) == ([first.id], 1)
    assert await state(engine, holder) is State.WAITING


async def test_enqueueing_a_flow_again_changes_nothing(engine):
    flow, jobs = flow_of((), (0,))
    await engine.enqueue(jobs)
    await engine.enqueue(jobs, again=True)
    found = await seen(engine, flow)
    assert (ids(found.jobs), found.unfinished) == (ids(jobs), 2)


async def test_a_flow_that_never_was_is_none(engine):
    await put(engine)
    assert await engine.flow(make_id()) is None
    assert await engine.flows(10) == []


async def test_flows_are_listed_newest_first_without_their_members(engine, clock):
    made = []
    for n in range(5):
        clock.advance(1)
        flow, jobs = flow_of((), (0,), name=f"course-{n}")
        await engine.enqueue(jobs)
        made.append(flow)
    listed = await engine.flows(10)
    assert [(f.id, f.name, f.unfinished, f.jobs) for f in listed] == [(*f, 2, ()) for f in made[::-1]]
    page = await engine.flows(2)
    assert ids(page) == ids(made[:2:-1])
    assert ids(await engine.flows(2, after=page[-1].id)) == ids(made[2:0:-1])


# -- what is kept -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("retention", [NOTHING_KEPT, Retention(QUEUE, keep_completed=0, keep_failed=0)])
async def test_members_of_an_unfinished_flow_are_not_pruned(engine, worker, clock, retention):
    flow, jobs = flow_of((), (), (), (0, 1, 2))
    jobs[-1] = jobs[-1]._replace(ties=after(*ids(jobs[:3]), on_failure="ignore", flow=flow))
    await engine.enqueue(jobs)
    one, two, three = await claim(engine)
    await settle(engine, one)
    await settle(engine, two, failed())
    await settle(engine, three, Cancelled("no"))
    clock.advance(20)
    assert await engine.prune(retention, 10) == 0
    [last] = await claim(engine)
    assert last.id == jobs[3].id
    await settle(engine, last)
    clock.advance(1)
    assert await engine.prune(retention, 10) == 4
    assert await counts(engine) == {}


async def test_a_member_that_would_leave_no_record_leaves_one_for_those_who_read_its_result(engine, worker):
    flow, jobs = flow_of((), (0,))
    await engine.enqueue(jobs)
    [held] = await claim(engine)
    assert await settle(engine, held, Completed("[1]"), keep=False)
    assert [job.result for job in (await seen(engine, flow)).jobs] == [[1], None]
    [held] = await claim(engine)
    await settle(engine, held)
    assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 2


async def test_members_of_an_unfinished_flow_are_not_counted_as_kept(engine, worker, clock):
    _, jobs = flow_of((), (), (0, 1))
    await engine.enqueue(jobs)
    one, two = await claim(engine)
    older = await put(engine)
    [held] = await claim(engine)
    assert held.id == older
    await settle(engine, held)
    clock.advance(1)
    await settle(engine, one)
    await settle(engine, two)
    assert await engine.prune(Retention(QUEUE, keep_completed=1), 10) == 0
    assert await state(engine, older) is State.COMPLETED


async def test_when_the_last_has_ended_members_count_like_others(engine, worker, clock):
    _, jobs = flow_of((), (0,))
    await engine.enqueue(jobs)
    for _ in jobs:
        clock.advance(1)
        [held] = await claim(engine)
        await settle(engine, held)
    clock.advance(1)
    other = await finish(engine)
    assert await engine.prune(Retention(QUEUE, keep_completed=2), 10) == 1
    assert ids(await engine.jobs(JobFilter(), 10)) == [other.id, jobs[1].id]


async def test_a_finished_flow_is_held_by_no_other(engine, worker):
    _, jobs = flow_of(())
    await engine.enqueue(jobs)
    [held] = await claim(engine)
    await settle(engine, held)
    _, others = flow_of((), (0,))
    await engine.enqueue(others)
    assert await engine.prune(Retention(QUEUE, keep_completed=0), 10) == 1
    assert await state(engine, jobs[0].id) is None


async def test_a_flow_is_forgotten_when_none_of_its_members_has_a_record(engine, worker, clock):
    flow, jobs = flow_of((), (0,))
    kept, others = flow_of((), name="kept")
    await engine.enqueue(jobs)
    for _ in jobs:
        [held] = await claim(engine)
        await settle(engine, held)
    await engine.enqueue(others)
    clock.advance(1)
    assert await engine.prune(NOTHING_KEPT, 10) == 2
    await engine.tidy()
    assert await engine.flow(flow.id) is None
    assert ids(await engine.flows(10)) == [kept.id]


# -- its work ---------------------------------------------------------------------------------------------


async def test_a_flow_fans_out_and_in(engine, worker):
    flow, jobs = flow_of((), *[(0,)] * 98, tuple(range(1, 99)))
    await engine.enqueue(jobs)
    held, order = await claim(engine), []
    while held:
        order.append(len(held))
        await engine.settle([end(each) for each in held])
        held = await claim(engine)
    assert order == [1, 98, 1]
    found = await seen(engine, flow)
    assert (found.unfinished, {job.state for job in found.jobs}) == (0, {State.COMPLETED})
    assert len(found.jobs) == 100


async def test_what_a_settlement_unblocks_can_be_claimed_by_the_next_call(engine, worker):
    _, jobs = flow_of((), (0,), (1,))
    await engine.enqueue(jobs)
    held = await claim(engine)
    done = []
    while held:
        done += ids(held)
        settled = await engine.settle([end(each) for each in held], want())
        held = settled.claims or await claim(engine)
    assert done == ids(jobs)


async def test_a_cancelled_flow_starts_nothing_more(engine, worker):
    flow, jobs = flow_of((), (0,), (0,), (1, 2))
    await engine.enqueue(jobs)
    found = await engine.cancel(ids(jobs), "not wanted")
    assert found == [State.CANCELLED] * 4
    assert await claim(engine) == []
    assert (await seen(engine, flow)).unfinished == 0


async def test_a_job_outside_can_wait_for_a_member(engine, worker):
    flow = FlowName(make_id(), "course")
    member = new(ties=Ties(feeds=True, flow=flow))
    await engine.enqueue([member])
    outside = await blocked(engine, member.id)
    [held] = await claim(engine)
    await settle(engine, held)
    assert ids(await claim(engine)) == [outside]
    assert ids((await seen(engine, flow)).jobs) == [member.id]


async def test_members_ended_by_several_engines_at_once_are_counted_once_each(make_engine):
    engines = [await make_engine() for _ in range(3)]
    await register(engines[0])
    flow, jobs = flow_of(*[()] * 30)
    await engines[0].enqueue([*jobs, *news(2)])
    held = await claim(engines[0], limit=30)
    await asyncio.gather(*(settle(engines[n % 3], each) for n, each in enumerate(held)))
    assert (await seen(engines[1], flow)).unfinished == 0
