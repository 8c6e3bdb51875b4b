"""outlook: what upkeep there is to do now, and when the next falls due. It changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from conformance.kit import claim, counts, gone, news, put, register
from penstock.engine import Outlook, ScheduleRow, Tick
from penstock.model.states import State

NOTHING = Outlook(due_in=None, tick_in=None, lost=False)


def schedule(clock, name, after):
    return ScheduleRow(id=name, spec="{}", next_at=clock.now() + timedelta(seconds=after))


async def test_of_an_empty_engine_there_is_nothing_to_tell(engine):
    assert await engine.outlook() == NOTHING


async def test_jobs_that_wait_and_workers_that_live_are_no_upkeep(engine, worker):
    await engine.enqueue(news(2))
    await claim(engine, limit=1)
    assert await engine.outlook() == NOTHING


async def test_it_tells_when_the_first_delayed_job_falls_due_and_that_it_is(engine, clock):
    await engine.enqueue([*news(1, delay=90), *news(1, delay=30, queue="other"), *news(1)])
    assert (await engine.outlook()).due_in == pytest.approx(30)
    clock.advance(29.75)
    assert (await engine.outlook()).due_in == pytest.approx(0.25, abs=0.002)
    clock.advance(20)
    assert (await engine.outlook()).due_in == 0
    assert await counts(engine, "other") == {State.DELAYED: 1}
    await engine.stage(10)
    assert (await engine.outlook()).due_in == pytest.approx(40.25, abs=0.002)


async def test_it_tells_when_the_next_tick_is_due_and_that_it_is(engine, clock):
    await engine.put_schedules([schedule(clock, "late", 90), schedule(clock, "soon", 30)])
    assert (await engine.outlook()).tick_in == pytest.approx(30)
    clock.advance(45)
    assert (await engine.outlook()).tick_in == 0
    [due] = (await engine.due_schedules(9)).schedules
    await engine.fire(Tick("soon", due.next_at, None, None))
    assert (await engine.outlook()).tick_in == pytest.approx(45)


async def test_a_paused_schedule_has_no_tick(engine, clock):
    await engine.put_schedules([schedule(clock, "one", 30)])
    await engine.pause_schedule("one", True, None)
    assert await engine.outlook() == NOTHING


async def test_a_worker_past_its_time_is_lost_until_it_is_rescued(engine, clock):
    await register(engine, "one", ttl=30)
    await register(engine, "two", ttl=90)
    clock.advance(29)
    assert not (await engine.outlook()).lost
    clock.advance(1)
    assert (await engine.outlook()).lost
    await engine.rescue(10, gone)
    assert not (await engine.outlook()).lost


async def test_a_worker_that_was_given_up_and_holds_more_is_lost(engine, clock, worker):
    for _ in range(2):
        await put(engine)
    await claim(engine)
    clock.advance(31)
    assert len(await engine.rescue(1, gone)) == 1
    assert (await engine.outlook()).lost
    assert len(await engine.rescue(9, gone)) == 1
    assert await engine.outlook() == NOTHING
