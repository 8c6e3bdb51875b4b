"""Many schedulers over one storage, killed at any moment: each tick makes one job."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest

from penstock import Penstock
from penstock.engine import TICKS_KEPT, JobFilter
from penstock.model.clock import FakeClock
from penstock.model.schedule import tick_id
from penstock.runtime.scheduler import Scheduler
from penstock.tasks.scheduling import sync

TICKS = 120
SCHEDULERS = 8
PAGE = 200


def make_app(every: float, **options) -> Penstock:
    app = Penstock("sqlite://:memory:", name="shop")

    @app.task
    async def work() -> None: ...

    app.schedule("s", work, every=every, **options)
    return app


async def job_ids(engine) -> list[str]:
    found: list[str] = []
    while page := await engine.jobs(JobFilter(), PAGE, found[-1] if found else None):
        found += [job.id for job in page]
    return found


async def work_a_while(scheduler: Scheduler, rng: random.Random) -> None:
    """One scheduler's life: a few rounds, unless it is killed in the middle of one."""
    life = asyncio.create_task(scheduler.round())
    if rng.random() < 0.3:
        for _ in range(rng.randrange(6)):
            await asyncio.sleep(0)
        life.cancel()
    await asyncio.gather(life, return_exceptions=True)


@pytest.mark.timeout(240)
async def test_eight_schedulers_killed_and_restarted_fire_each_tick_once(make_engine, clock):
    rng = random.Random(20)
    app = make_app(60, missed="all")
    engines = [await make_engine() for _ in range(4)]
    await sync(engines[0], app.registry.schedules.declared, "shop")
    start = clock.now()
    for _ in range(TICKS):
        clock.advance(60)
        schedulers = [Scheduler(rng.choice(engines), app.registry) for _ in range(SCHEDULERS)]
        await asyncio.gather(*(work_a_while(scheduler, rng) for scheduler in schedulers))
    await Scheduler(engines[1], app.registry).catch_up()
    dues = [start + timedelta(seconds=60 * (n + 1)) for n in range(TICKS)]
    expected = [tick_id("s", due) for due in dues]
    assert sorted(await job_ids(engines[2])) == sorted(expected)
    told = await engines[2].ticks("s", TICKS)
    assert [(tick.due, tick.job_id) for tick in reversed(told)] == list(
        zip(dues[-TICKS_KEPT:], expected[-TICKS_KEPT:], strict=True)
    )
    [row] = await engines[3].schedules()
    assert row.last_job == expected[-1]


@pytest.mark.parametrize(("missed", "runs"), [("skip", 0), ("once", 1), ("all", 26)])
async def test_26_hours_away_are_made_up_for_as_the_policy_says(make_engine, clock, missed, runs):
    app = make_app(3_600, missed=missed)
    engines = [await make_engine() for _ in range(2)]
    await sync(engines[0], app.registry.schedules.declared, "shop")
    clock.advance(hours=26, minutes=30)
    await asyncio.gather(*(Scheduler(engine, app.registry).catch_up() for engine in engines))
    assert len(await job_ids(engines[0])) == runs
    [row] = await engines[1].schedules()
    assert row.next_at == clock.now() + timedelta(minutes=30)


class JumpingClock(FakeClock):
    """A clock that somebody sets."""

    def jump(self, **by: float) -> None:
        self._now += timedelta(**by)


async def test_jumps_of_the_clock_double_and_lose_no_tick(make_engine):
    clock = JumpingClock()
    app = make_app(3_600, missed="once")
    engine = await make_engine(clock)
    await sync(engine, app.registry.schedules.declared, "shop")
    scheduler = Scheduler(engine, app.registry)
    start, fired = clock.now(), []
    for jump in (0, -3_600, -1, 3_600, 0):
        row = (await engine.schedules())[0]
        assert row.next_at is not None
        clock.jump(seconds=(row.next_at - clock.now()).total_seconds() + 1)
        await scheduler.catch_up()
        clock.jump(seconds=jump)
        await scheduler.catch_up()
        await sync(engine, app.registry.schedules.declared, "shop")
        await scheduler.catch_up()
        fired = await job_ids(engine)
    hours = [tick_id("s", start + timedelta(hours=n)) for n in range(1, len(fired) + 1)]
    assert sorted(fired) == sorted(hours)
    assert len(fired) == 6
