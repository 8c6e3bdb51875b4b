"""survey: what stands, all in one look. It is what the verbs that look at each would tell."""

from __future__ import annotations

from datetime import timedelta

from conformance.kit import TASK, claim, failed, news, parked, put, settle
from penstock.engine import Sample, ScheduleRow
from penstock.model.breaker import Breaker, Circuit


async def test_of_an_empty_engine_it_tells_the_time(engine, clock):
    found = await engine.survey(120.0)
    assert found.now == clock.now()
    assert (found.queues, found.workers, found.minutes, found.dead) == ([], [], [], 0)
    assert (found.breakers, found.parked, found.schedules) == ([], [], [])


async def test_it_tells_what_the_verbs_for_each_would(engine, clock, worker):
    await engine.enqueue([*news(3), *news(2, delay=60), *news(1, queue="other")])
    one, two, *_ = await claim(engine, limit=2)
    await settle(engine, one, failed())
    await settle(engine, two, parked())
    await engine.set_paused("other", True)
    await engine.put_breakers([Breaker(name="mail"), Breaker(name="bank")])
    await engine.set_breaker("mail", Circuit.OPEN)
    spec = ScheduleRow(id="nightly", spec="{}", next_at=clock.now() + timedelta(hours=1))
    await engine.put_schedules([spec])
    await engine.count([Sample("default", TASK, {"failed": 1})])
    clock.advance(5)

    found = await engine.survey(120.0)
    minutes = await engine.series(clock.now() - timedelta(seconds=120), clock.now() + timedelta(seconds=1))
    assert found.now == clock.now()
    assert found.queues == await engine.queues()
    assert found.workers == await engine.workers()
    assert found.minutes == minutes
    assert found.dead == await engine.dead_count() == 1
    assert found.breakers == await engine.breakers()
    assert found.parked == await engine.parked()
    assert found.schedules == await engine.schedules()
    assert all((found.queues, found.workers, minutes, found.breakers, found.parked, found.schedules))


async def test_of_what_was_counted_it_tells_the_minutes_that_began_within_its_reach(engine, clock):
    for name in ("first", "second", "third"):
        await engine.count([Sample("default", name, {"completed": 1})])
        clock.advance(60)
    at = clock.now()
    began = at.replace(second=0, microsecond=0)
    inside = (at - began).total_seconds() + 120
    assert [minute.task for minute in (await engine.survey(inside)).minutes] == ["second", "third"]
    assert [minute.task for minute in (await engine.survey(inside - 0.5)).minutes] == ["third"]


async def test_it_changes_nothing(engine, clock):
    job = await put(engine, delay=5)
    clock.advance(6)
    await engine.survey(120.0)
    assert (await engine.outlook()).due_in == 0
    assert await engine.stage(10) is None
    assert (await engine.get(job)) is not None
