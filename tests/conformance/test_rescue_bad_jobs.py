"""rescue: a job that cannot be taken back stays for the next time, and holds up nobody else."""

import logging
from collections.abc import Callable
from typing import NoReturn

import pytest

from conformance.kit import (
    QUEUE,
    TASK,
    WORKER,
    claim,
    counts,
    gone,
    ids,
    news,
    parked,
    read,
    register,
    settle,
    state,
)
from penstock.engine import Engine, Group, Judge, Rescued
from penstock.model.clock import FakeClock
from penstock.model.job import Held
from penstock.model.lanes import group_name, limited_lane
from penstock.model.limits import Limit
from penstock.model.outcome import Cancelled, Outcome, Released, Retried
from penstock.model.states import State

GROUP = group_name(QUEUE, TASK)
LANE = limited_lane(GROUP)
UNWRITABLE = "half of a pair: \ud800"  # no encoding has it


async def of_all_that_expired(engine: Engine, judge: Judge) -> list[Rescued]:
    return await engine.rescue(10, judge)


async def of_one_seen_dead(engine: Engine, judge: Judge) -> list[Rescued]:
    return await engine.rescue_worker(WORKER, frozenset(), judge)


either_way = pytest.mark.parametrize(
    "sweep", [of_all_that_expired, of_one_seen_dead], ids=["expired", "dead"]
)
wherever_it_stands = pytest.mark.parametrize("nth", [0, 1, 2])


async def hold_three(engine: Engine, clock: FakeClock, nth: int) -> tuple[str, list[str]]:
    """Three jobs of one worker whose time is over: the bad one, and the others. They are in a limited lane,
    so that there is more to be counted than jobs."""
    await engine.put_groups([Group(GROUP, limit=Limit(concurrency=3))])
    await engine.enqueue(news(3, lane=LANE))
    others = ids(await claim(engine))
    clock.advance(31)
    return others.pop(nth), others


def save(bad: str, fate: Callable[[Held], Outcome]) -> Judge:
    """All are released but one."""
    return lambda held: fate(held) if held.id == bad else gone(held)


def names_of_errors(caplog: pytest.LogCaptureFixture, *jobs: str) -> list[str]:
    """Which of these jobs the errors in the log name."""
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    return [job for message in told for job in jobs if job in message]


async def stands(engine: Engine, bad: str, others: list[str]) -> None:
    """The bad one is held as it was, the others wait, and all is counted right."""
    assert await counts(engine) == {State.WAITING: 2, State.ACTIVE: 1}
    assert [await state(engine, job) for job in others] == [State.WAITING] * 2
    job = await read(engine, bad)
    assert (job.state, job.worker, job.rescues, job.note) == (State.ACTIVE, WORKER, 0, None)
    assert await lane_of(engine) == (2, 1)


async def lane_of(engine: Engine) -> tuple[int, int]:
    """How many jobs of the lane wait and run."""
    [lane] = await engine.lanes(GROUP, 10)
    return lane.waiting, lane.active


async def next_time_all_is_well(engine: Engine, bad: str) -> None:
    assert ids(await engine.rescue(10, gone)) == [bad]
    assert await counts(engine) == {State.WAITING: 3}
    assert await lane_of(engine) == (3, 0)
    assert await engine.workers() == []


@either_way
@wherever_it_stands
async def test_a_job_that_cannot_be_judged_is_told_and_the_others_are_rescued(
    engine, worker, clock, sweep, nth, caplog
):
    def fails(_held: Held) -> NoReturn:
        raise RuntimeError("no idea")

    bad, others = await hold_three(engine, clock, nth)
    assert sorted(ids(await sweep(engine, save(bad, fails)))) == others
    assert names_of_errors(caplog, bad, *others) == [bad]
    await stands(engine, bad, others)
    await next_time_all_is_well(engine, bad)


@either_way
@wherever_it_stands
@pytest.mark.parametrize(
    "outcome",
    [
        Cancelled(UNWRITABLE),
        Released(UNWRITABLE, suspect=True, rescued=True),
        Retried(float("inf"), None),
    ],
    ids=["end", "text", "time"],
)
async def test_a_job_whose_end_cannot_be_stored_is_told_and_the_others_are_rescued(
    engine, worker, clock, sweep, nth, outcome, caplog
):
    bad, others = await hold_three(engine, clock, nth)
    assert sorted(ids(await sweep(engine, save(bad, lambda _: outcome)))) == others
    assert names_of_errors(caplog, bad, *others) == [bad]
    await stands(engine, bad, others)
    await next_time_all_is_well(engine, bad)


async def test_what_a_rescue_parks_beside_a_bad_job_is_counted_as_parked(engine, worker, clock):
    bad, others = await hold_three(engine, clock, 1)
    await engine.rescue(10, lambda held: Cancelled(UNWRITABLE) if held.id == bad else parked(misfit="v0"))
    [lane] = await engine.parked()
    assert (lane.task, lane.jobs) == (TASK, 2)
    await register(engine, "w2")
    assert sorted(ids(await claim(engine, worker="w2"))) == others
    assert await engine.parked() == []


async def test_bad_jobs_of_several_workers_hold_up_nobody(engine, clock, caplog):
    bad, good = [], []
    for name in ("w1", "w2", "w3"):
        await register(engine, name)
        await engine.enqueue(news(3))
        held = ids(await claim(engine, worker=name))
        bad.append(held.pop(1))
        good += held
    clock.advance(31)
    rescued = await engine.rescue(100, lambda held: Cancelled(UNWRITABLE) if held.id in bad else gone(held))
    assert sorted(ids(rescued)) == sorted(good)
    assert sorted(names_of_errors(caplog, *bad, *good)) == sorted(bad)
    assert await counts(engine) == {State.WAITING: 6, State.ACTIVE: 3}


async def test_where_nothing_can_be_stored_everything_stays(engine, worker, clock, caplog):
    bad, others = await hold_three(engine, clock, 0)
    assert await engine.rescue(10, lambda _: Cancelled(UNWRITABLE)) == []
    assert sorted(names_of_errors(caplog, bad, *others)) == sorted([bad, *others])
    assert await counts(engine) == {State.ACTIVE: 3}


async def test_a_job_that_could_not_be_taken_back_may_still_be_ended_by_its_holder(engine, worker, clock):
    await engine.enqueue(news(2))
    bad, other = await claim(engine)
    clock.advance(31)
    assert ids(await engine.rescue(10, save(bad.id, lambda _: Cancelled(UNWRITABLE)))) == [other.id]
    assert [await settle(engine, held) for held in (bad, other)] == [True, False]
    assert await counts(engine) == {State.WAITING: 1, State.COMPLETED: 1}
