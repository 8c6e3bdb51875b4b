"""The scheduler: due ticks become jobs, by the policies of their schedules, on an engine in memory."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock import Disabled, EngineUnavailable, Penstock, Unrecoverable
from penstock.engine import STILL_RUNS, ScheduleRow
from penstock.model.schedule import tick_id
from penstock.model.states import State
from penstock.ops import Ops
from penstock.runtime import scheduler as module
from penstock.runtime.scheduler import Scheduler
from penstock.testing import FakeClock, sandbox

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def app():
    app = Penstock("sqlite://:memory:")
    app.queue("q")

    @app.task(queue="q")
    async def work(n: int = 0) -> None: ...

    @app.task(queue="q", retry="none")
    async def fail() -> None:
        raise Unrecoverable("no")

    return app


@pytest.fixture
def clock():
    return FakeClock(NOON)


async def states(app: Penstock) -> dict[str, State]:
    """What became of each tick's job, by schedule."""
    found = {}
    for row in await app.engine.schedules():
        for tick in await app.engine.ticks(row.id, 100):
            job = await app.engine.get(tick.job_id) if tick.job_id else None
            found[f"{row.id} {tick.due:%d %H:%M}"] = job and job.state
    return found


async def ticks(app: Penstock, name: str = "s") -> list[tuple[str, bool]]:
    """The latest ticks, oldest first, and whether each made a job."""
    found = await app.engine.ticks(name, 100)
    return [(f"{tick.due:%d %H:%M}", tick.job_id is not None) for tick in reversed(found)]


# -- policies -------------------------------------------------------------------------------------------


async def test_a_due_tick_becomes_a_job_that_runs(app, clock):
    app.schedule("s", app.tasks["work"], cron="15 4 * * *", tz="America/Sao_Paulo", args={"n": 5})
    async with sandbox(app, clock) as box:
        assert await box.adrain() == 0
        box.advance(hours=19, minutes=15)  # 07:15 UTC
        assert await box.adrain() == 1
        job = await box.aassert_enqueued(app.tasks["work"], n=5)
        due = datetime(2026, 1, 6, 7, 15, tzinfo=UTC)
        assert (job.id, job.origin) == (
            tick_id("s", due), "schedule s, tick of 2026-01-06 07:15:00 UTC",
        )  # fmt: skip
        assert await box.adrain() == 0


@pytest.mark.parametrize(
    ("missed", "runs"),
    [("skip", 0), ("once", 1), ("all", 26)],
)
async def test_26_hours_without_a_scheduler(app, clock, missed, runs):
    app.schedule("s", app.tasks["work"], every=3_600, missed=missed)
    async with sandbox(app, clock) as box:
        box.advance(hours=26, minutes=30)
        assert await box.adrain() == runs
        [row] = await app.engine.schedules()
        assert row.next_at == NOON + 27 * HOUR
        box.advance(minutes=30)
        assert await box.adrain() == 1


async def test_a_late_run_says_when_it_was_due(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        box.advance(hours=3, minutes=30)
        await box.adrain()
        late, passed = await app.engine.ticks("s", 5)
        assert (late.due, late.note) == (NOON + 3 * HOUR, "late: it was due at 2026-01-05 15:00:00 UTC")
        assert passed.note == "missed, like all before that of 2026-01-05 15:00:00 UTC"


async def test_overlap_is_the_schedules(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600, overlap="skip")
    async with sandbox(app, clock) as box:
        await app.engine.set_paused("q", True)
        for _ in range(3):
            box.advance(hours=1)
            assert await box.adrain() == 0
        assert await ticks(app) == [("05 13:00", True), ("05 14:00", False), ("05 15:00", False)]
        [last, *_] = await app.engine.ticks("s", 1)
        assert last.note == STILL_RUNS


async def test_a_schedule_of_a_task_that_is_switched_off_makes_no_job(clock):
    app, on = Penstock("sqlite://:memory:"), [False]

    @app.task(enabled=lambda: on[0])
    async def work() -> None: ...

    app.schedule("s", work, every=3_600)
    async with sandbox(app, clock) as box:
        box.advance(hours=1)
        assert await box.adrain() == 0
        [tick] = await app.engine.ticks("s", 5)
        assert tick.job_id is None
        assert tick.note.endswith("nothing was enqueued")  # the next tick comes without anybody
        with pytest.raises(Disabled):
            await work.aenqueue()
        on[0] = True
        box.advance(hours=1)
        assert await box.adrain() == 1


async def test_a_schedule_ends(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600, end=NOON + 2 * HOUR)
    async with sandbox(app, clock) as box:
        for _ in range(4):
            box.advance(hours=1)
            await box.adrain()
        assert len(await box.ajobs()) == 2


# -- after ----------------------------------------------------------------------------------------------


def course(app: Penstock, first: str = "work", **options) -> None:
    app.schedule("up", app.tasks[first], cron="0 3 * * *")
    app.schedule("down", app.tasks["work"], cron="15 4 * * *", after=["up"], **options)


async def test_a_tick_waits_for_its_upstream_of_the_same_day(app, clock):
    course(app)
    async with sandbox(app, clock) as box:
        await app.engine.set_paused("q", True)
        box.advance(hours=16, minutes=20)  # 04:20 the next day
        await box.adrain()
        assert await states(app) == {"up 06 03:00": State.WAITING, "down 06 04:15": State.BLOCKED}
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.blocked_by == (tick_id("up", datetime(2026, 1, 6, 3, tzinfo=UTC)),)
        await app.engine.set_paused("q", False)
        assert await box.adrain() == 2


async def test_a_tick_whose_upstream_has_completed_runs_at_once(app, clock):
    course(app)
    async with sandbox(app, clock) as box:
        box.advance(hours=15)
        assert await box.adrain() == 1
        box.advance(hours=1, minutes=15)
        assert await box.adrain() == 1


async def test_a_record_that_is_gone_is_no_reason_to_wait(app, clock):
    course(app)
    async with sandbox(app, clock) as box:
        box.advance(hours=15)
        await box.adrain()
        [up] = await box.ajobs()
        assert await app.engine.delete([up.id]) == 1
        box.advance(hours=1, minutes=15)
        assert await box.adrain() == 1


async def test_an_upstream_that_is_not_fired_yet_is_waited_for(app, clock):
    app.schedule("z-up", app.tasks["work"], cron="15 4 * * *")
    app.schedule("down", app.tasks["work"], cron="15 4 * * *", after=["z-up"])
    async with sandbox(app, clock) as box:
        box.advance(hours=16, minutes=15)
        assert await box.adrain() == 2
        assert await states(app) == {"z-up 06 04:15": State.COMPLETED, "down 06 04:15": State.COMPLETED}
        down = tick_id("down", datetime(2026, 1, 6, 4, 15, tzinfo=UTC))
        assert (await app.engine.get(down)).after == (
            tick_id("z-up", datetime(2026, 1, 6, 4, 15, tzinfo=UTC)),
        )


async def test_yesterdays_run_is_not_todays(app, clock):
    app.schedule("up", app.tasks["work"], cron="0 3 * * *")
    app.schedule("down", app.tasks["work"], cron="0 */6 * * *", after=["up"])
    async with sandbox(app, clock) as box:
        await app.engine.pause_schedule("up", True, None)
        box.advance(hours=6)  # 18:00: none of its ticks since 12:00
        assert await box.adrain() == 1
        box.advance(hours=12)  # 06:00: that of 03:00 was due, and is paused
        assert await box.adrain() == 0
        assert (await states(app))["down 06 06:00"] is State.BLOCKED


async def test_an_upstream_that_is_due_too_is_fired_first(app, clock):
    app.schedule("z-up", app.tasks["work"], cron="15 4 * * *")
    app.schedule("down", app.tasks["work"], cron="15 4 * * *", after=["z-up"])
    async with sandbox(app, clock) as box:
        box.advance(hours=16, minutes=15)
        scheduler = Scheduler(app.engine, app.registry)
        [down, _] = (await app.engine.due_schedules(2)).schedules
        assert await scheduler._fire(down, clock.now())
        assert set(await states(app)) == {"z-up 06 04:15", "down 06 04:15"}


async def test_after_an_outage_a_tick_waits_for_the_job_that_makes_up_for_its_upstreams(app, clock):
    app.schedule("up", app.tasks["work"], cron="0 * * * *")
    app.schedule("down", app.tasks["work"], cron="15 4 * * *", after=["up"])
    async with sandbox(app, clock) as box:
        await app.engine.set_paused("q", True)
        box.advance(hours=22, minutes=30)  # 10:30 the next day
        await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.blocked_by == (tick_id("up", datetime(2026, 1, 6, 10, tzinfo=UTC)),)
        await app.engine.set_paused("q", False)
        assert await box.adrain() == 2


async def test_an_upstream_that_was_not_there_yet_has_had_no_tick_to_wait_for(app, clock):
    app.schedule("up", app.tasks["work"], cron="0 9 * * *")
    app.schedule("down", app.tasks["work"], cron="15 14 * * *", after=["up"])
    async with sandbox(app, clock) as box:
        box.advance(hours=2, minutes=15)  # 14:15: both have been there since 12:00
        assert await box.adrain() == 1
        assert await states(app) == {"down 05 14:15": State.COMPLETED}


async def test_the_job_of_a_tick_counts_though_the_upstream_has_other_times_by_now(app, clock):
    async with sandbox(app, clock) as box:
        await app.aupsert_schedule("up", app.tasks["work"], cron="0 3 * * *")
        await app.aupsert_schedule("down", app.tasks["work"], cron="15 4 * * *", after=["up"])
        await app.engine.set_paused("q", True)
        box.advance(hours=15)
        await box.adrain()
        box.advance(hours=1, minutes=5)
        await app.aupsert_schedule("up", app.tasks["work"], cron="0 4 * * *")
        box.advance(minutes=10)
        await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.blocked_by == (tick_id("up", datetime(2026, 1, 6, 3, tzinfo=UTC)),)


async def test_an_upstream_that_let_its_latest_tick_pass_is_waited_for_by_the_job_it_has(app, clock):
    app.schedule("up", app.tasks["work"], cron="0 * * * *", overlap="skip")
    app.schedule("down", app.tasks["work"], cron="15 4 * * *", after=["up"])
    async with sandbox(app, clock) as box:
        await app.engine.set_paused("q", True)
        for _ in range(17):
            box.advance(hours=1)
            await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.blocked_by == (tick_id("up", datetime(2026, 1, 5, 13, tzinfo=UTC)),)


async def test_schedules_that_wait_for_each_other_are_fired_all_the_same(app, clock):
    async with sandbox(app, clock) as box:
        await app.aupsert_schedule("a", app.tasks["work"], every=3_600)
        await app.aupsert_schedule("b", app.tasks["work"], every=3_600, after=["a"])
        [a, _] = await app.engine.schedules()
        await app.engine.put_schedules([replace(a, spec=a.spec.replace('"after":[]', '"after":["b"]'))])
        box.advance(hours=1)
        await box.adrain()
        assert set(await states(app)) == {"a 05 13:00", "b 05 13:00"}


async def test_an_upstream_that_cannot_be_read_is_waited_for_until_the_deadline(app, clock):
    async with sandbox(app, clock) as box:
        await app.aupsert_schedule("up", app.tasks["work"], cron="0 3 * * *")
        await app.aupsert_schedule("down", app.tasks["work"], cron="15 4 * * *", after=["up"], deadline=60)
        [_, up] = await app.engine.schedules()
        await app.engine.put_schedules([replace(up, spec="nonsense", next_at=NOON + 15 * HOUR)])
        box.advance(hours=16, minutes=15)
        await box.adrain()
        assert await states(app) == {"down 06 04:15": State.BLOCKED}
        box.advance(minutes=2)
        await box.adrain()
        assert await states(app) == {"down 06 04:15": State.CANCELLED}


async def test_an_upstream_whose_record_goes_between_the_look_and_the_tick_is_not_waited_for(app, clock):
    course(app)
    async with sandbox(app, clock) as box:
        box.advance(hours=15)
        await box.adrain()
        [up] = await box.ajobs()
        box.advance(hours=1, minutes=15)
        scheduler = Scheduler(app.engine, app.registry)
        [down] = (await app.engine.due_schedules(1)).schedules
        tick = await scheduler._tick(down, down.next_at, clock.now())
        assert await app.engine.delete([up.id]) == 1
        await app.engine.fire(tick)
        assert await box.adrain() == 1


@pytest.mark.parametrize(
    ("policy", "state"),
    [("skip", State.CANCELLED), ("run", State.COMPLETED), ("fail", State.FAILED)],
)
async def test_when_the_upstream_never_completes_the_deadline_decides(app, clock, policy, state):
    course(app, "fail", deadline=2 * 3_600, on_deadline=policy)
    async with sandbox(app, clock) as box:
        box.advance(hours=16, minutes=15)
        await box.adrain()
        assert (await states(app))["down 06 04:15"] is State.BLOCKED
        box.advance(hours=1, minutes=59)
        await box.adrain()
        assert (await states(app))["down 06 04:15"] is State.BLOCKED
        box.advance(minutes=2)
        await box.adrain()
        assert (await states(app))["down 06 04:15"] is state


async def test_the_deadline_counts_from_the_tick_also_where_it_is_late(app, clock):
    course(app, "fail", deadline=2 * 3_600)
    async with sandbox(app, clock) as box:
        box.advance(hours=17, minutes=15)
        await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.deadline_at == datetime(2026, 1, 6, 6, 15, tzinfo=UTC)


async def test_without_a_deadline_a_tick_waits_until_the_next(app, clock):
    course(app, "fail")
    async with sandbox(app, clock) as box:
        box.advance(hours=16, minutes=15)
        await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.deadline_at == datetime(2026, 1, 7, 4, 15, tzinfo=UTC)


async def test_the_recovered_upstream_is_the_one_waited_for(app, clock):
    course(app, "fail")
    async with sandbox(app, clock) as box:
        box.advance(hours=15)
        await box.adrain()
        [up] = await box.ajobs()
        again = await Ops(app.engine, app.registry).recover(up.id)
        await app.engine.set_paused("q", True)
        box.advance(hours=1, minutes=15)
        await box.adrain()
        [down] = [job for job in await box.ajobs() if job.state is State.BLOCKED]
        assert down.blocked_by == (again.job_id,)


# -- resilience -----------------------------------------------------------------------------------------


async def test_a_schedule_that_cannot_be_read_is_told_once_and_stops_no_other(app, clock, caplog):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        bad = ['{"when":1}', "[]", "nonsense", '{"when":{},"job":{}}']
        await app.engine.put_schedules(
            [ScheduleRow(id=f"bad{n}", spec=spec, next_at=NOON) for n, spec in enumerate(bad)]
        )
        scheduler = Scheduler(app.engine, app.registry)
        box.advance(hours=1)
        with caplog.at_level(logging.INFO, "penstock.scheduler"):
            assert await scheduler.round() == 0
            assert await scheduler.round() > 0
        assert [record.levelname for record in caplog.records].count("ERROR") == len(bad)
        assert len(await box.ajobs()) == 1


async def test_the_round_says_when_the_next_tick_is_due(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        scheduler = Scheduler(app.engine, app.registry)
        assert 0 < await scheduler.round() <= 1.25 * module.LOOK_AHEAD
        box.advance(minutes=59, seconds=59)
        assert await scheduler.round() == pytest.approx(1)
        box.advance(seconds=1)
        assert await scheduler.round() == 0


async def test_a_tick_that_it_is_told_of_is_fired_then_and_not_at_the_next_look(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        scheduler = Scheduler(app.engine, app.registry)
        running = asyncio.create_task(scheduler.run())
        box.advance(hours=1)
        async with asyncio.timeout(10):
            while not await box.ajobs():
                scheduler.due_in(0.0)
                await asyncio.sleep(0)
        running.cancel()


async def test_a_schedule_that_cannot_be_fired_is_not_tried_each_time_that_it_is_told_of(app, clock):
    async with sandbox(app, clock) as box:
        await app.engine.put_schedules([ScheduleRow(id="bad", spec="{}", next_at=clock.now())])
        box.advance(seconds=1)
        scheduler = Scheduler(app.engine, app.registry)
        assert await scheduler.round() > 1
        scheduler.due_in(0.0)
        assert scheduler._alarm._at - time.monotonic() > 1


class Away:
    """An engine that cannot be reached at first."""

    def __init__(self, engine, errors):
        self._engine, self._errors = engine, errors

    def __getattr__(self, name):
        return getattr(self._engine, name)

    async def due_schedules(self, limit):
        if self._errors:
            raise self._errors.pop()
        return await self._engine.due_schedules(limit)


async def test_an_outage_of_the_engine_only_puts_ticks_off(app, clock, monkeypatch, caplog):
    app.schedule("s", app.tasks["work"], every=3_600)
    monkeypatch.setattr(module, "jittered", lambda _seconds: 0.001)
    async with sandbox(app, clock) as box:
        box.advance(hours=1)
        errors = [EngineUnavailable("away"), ZeroDivisionError(), EngineUnavailable("away")]
        running = asyncio.create_task(Scheduler(Away(app.engine, errors), app.registry).run())
        while not await box.ajobs():
            await asyncio.sleep(0.001)
        running.cancel()
    assert "away" in caplog.text
    assert "trying again later" in caplog.text


async def test_to_catch_up_with_an_engine_that_is_away_is_put_off(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        box.advance(hours=1)
        scheduler = Scheduler(Away(app.engine, [EngineUnavailable("away")]), app.registry)
        await scheduler.catch_up()
        assert await box.ajobs() == []
        await scheduler.catch_up()
        assert len(await box.ajobs()) == 1


async def test_a_schedule_that_was_removed_or_fired_meanwhile_is_let_be(app, clock):
    app.schedule("s", app.tasks["work"], every=3_600)
    async with sandbox(app, clock) as box:
        box.advance(hours=1)
        stale = await app.engine.due_schedules(10)
        assert await box.adrain() == 1

        class Late(Away):
            async def due_schedules(self, limit):
                return stale

        assert await Scheduler(Late(app.engine, []), app.registry).round() == 0
        assert len(await box.ajobs()) == 1


async def test_jobs_of_a_schedule_are_pruned_by_its_own_numbers(app, clock):
    from penstock.runtime.sweeper import Sweeper

    app.schedule("s", app.tasks["work"], every=3_600, keep_completed=2)
    async with sandbox(app, clock) as box:
        for n in range(5):
            box.advance(hours=1)
            await app.tasks["work"].aenqueue(n=n)
            await box.adrain()
        await Sweeper(app.engine, app.worker_host().options).prune()
        found = await box.ajobs()
        assert len([job for job in found if job.origin]) == 2
        assert len([job for job in found if not job.origin]) == 5
