"""The sandbox: an app on an engine of its own, for the length of a test."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest

from penstock import (
    CalledInLoop,
    Context,
    EngineError,
    InvalidOption,
    Penstock,
    Retry,
    Snooze,
    State,
    SyncContext,
)
from penstock.testing import Box, FakeClock, sandbox


def make(url: str = "sqlite:///never-opened.db") -> Penstock:
    app = Penstock(url)

    @app.task(retry=Retry.fixed(3, 60))
    async def flaky(ctx: Context, day: date) -> int:
        if ctx.attempt < 3:
            raise ConnectionError("away")
        return ctx.attempt

    @app.task
    def parent(ctx: SyncContext, n: int) -> int:
        if n:
            app.tasks["parent"].enqueue(n=n - 1)
        return n

    @app.task
    async def for_ever() -> None:
        raise Snooze(0)

    return app


def test_jobs_go_to_memory_and_the_app_moves_back() -> None:
    app = make()
    with sandbox(app) as box:
        assert isinstance(box, Box)
        app.tasks["parent"].enqueue(n=0)
        assert app.url == "sqlite://:memory:"
    assert app.url == "sqlite:///never-opened.db"
    with sandbox(app) as box:
        assert box.jobs() == []


def test_an_app_that_is_open_is_not_moved() -> None:
    app = make("sqlite://:memory:")
    with app, pytest.raises(EngineError, match="close it"), sandbox(app):
        pass


def test_drain_runs_what_is_due_and_what_that_enqueues() -> None:
    app = make()
    with sandbox(app) as box:
        job = app.tasks["parent"].enqueue(n=3)
        assert box.drain() == 4
        assert job.result() == 3
        assert {found.state for found in box.jobs()} == {State.COMPLETED}
        assert [found.args["n"] for found in box.jobs(app.tasks["parent"])] == [3, 2, 1, 0]


def test_delayed_jobs_wait_for_the_clock() -> None:
    app = make()
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    with sandbox(app, clock) as box:
        app.tasks["parent"].using(delay=3600).enqueue(n=0)
        assert box.drain() == 0
        box.advance(minutes=59)
        assert box.drain() == 0
        box.advance(60)
        assert box.drain() == 1


@pytest.mark.parametrize("step", [{"seconds": -5}, {"seconds": timedelta(seconds=-1)}, {"minutes": -1}])
def test_the_clock_never_moves_back(step) -> None:
    with sandbox(make()) as box, pytest.raises(InvalidOption, match="never back"):
        box.advance(**step)


def test_drain_with_delayed_moves_the_clock_through_every_retry() -> None:
    app = make()
    with sandbox(app) as box:
        job = app.tasks["flaky"].enqueue(day=date(2026, 1, 1))
        began = box.clock.now()
        assert box.drain() == 1
        assert job.refresh().state is State.DELAYED
        assert box.drain(delayed=True) == 2
        assert job.result() == 3
        assert 120 <= (box.clock.now() - began).total_seconds() <= 140


def test_a_drain_that_cannot_end_says_so() -> None:
    app = make()

    @app.task
    async def again() -> None:
        await again.aenqueue()

    with sandbox(app) as box:
        again.enqueue()
        with pytest.raises(AssertionError, match="does not end: after 30 runs there waits again"):
            box.drain(most=30)


def test_a_drain_may_have_as_many_runs_as_it_is_told() -> None:
    app = make()
    with sandbox(app) as box:
        app.tasks["parent"].enqueue(n=4)
        assert box.drain(most=5) == 5


def test_drain_cancels_what_is_past_its_expiry() -> None:
    app = make()
    with sandbox(app) as box:
        jobs = [app.tasks["parent"].using(expire_after=60).enqueue(n=0) for _ in range(2)]
        jobs.append(app.tasks["parent"].using(delay=10, expire_after=60).enqueue(n=0))
        box.advance(61)
        assert box.drain() == 1
        assert [job.refresh().state for job in jobs] == [State.CANCELLED] * 2 + [State.COMPLETED]


def test_assert_enqueued_finds_a_job_by_some_of_its_arguments() -> None:
    app = make()
    with sandbox(app) as box:
        app.tasks["flaky"].enqueue(day=date(2026, 1, 1))
        app.tasks["parent"].enqueue(n=1)
        last = app.tasks["parent"].enqueue(n=1)
        assert box.assert_enqueued(app.tasks["flaky"], day=date(2026, 1, 1)).task == "flaky"
        assert box.assert_enqueued(app.tasks["parent"], times=2, n=1).id == last.id
        assert box.jobs(state=State.COMPLETED) == []


def test_a_failed_assertion_says_what_was_enqueued_instead() -> None:
    app = make()
    with sandbox(app) as box:
        with pytest.raises(
            AssertionError, match=r"a job\(s\) of 'parent' with \{'n': 1\}, found 0.*\n  nothing"
        ):
            box.assert_enqueued(app.tasks["parent"], n=1)
        app.tasks["parent"].enqueue(n=2)
        with pytest.raises(AssertionError, match=r"parent \{'n': 2\} \(waiting\)"):
            box.assert_enqueued(app.tasks["parent"], n=1)
        with pytest.raises(AssertionError, match="expected 2 job"):
            box.assert_enqueued(app.tasks["parent"], times=2)
        with pytest.raises(ValueError, match="assert_not_enqueued"):
            box.assert_enqueued(app.tasks["parent"], times=0)


def test_that_nothing_was_enqueued_can_be_asserted() -> None:
    app = make()
    with sandbox(app) as box:
        box.assert_not_enqueued(app.tasks["parent"])
        app.tasks["parent"].enqueue(n=2)
        box.assert_not_enqueued(app.tasks["parent"], n=1)
        with pytest.raises(AssertionError, match=r"no job of 'parent' with \{'n': 2\}, found 1"):
            box.assert_not_enqueued(app.tasks["parent"], n=2)


async def test_async_tests_have_a_twin_of_everything() -> None:
    app = make()
    loop = asyncio.get_running_loop()
    ran_on: list[asyncio.AbstractEventLoop] = []

    @app.task
    async def where() -> None:
        ran_on.append(asyncio.get_running_loop())

    async with sandbox(app) as box:
        await where.aenqueue()
        await box.aassert_enqueued(where, times=1)
        await box.aassert_not_enqueued(app.tasks["parent"])
        assert await box.adrain() == 1
        assert [job.state for job in await box.ajobs()] == [State.COMPLETED]
        with pytest.raises(CalledInLoop, match="adrain"):
            box.drain()
    assert ran_on == [loop]
    assert app.url == "sqlite:///never-opened.db"


async def test_a_job_of_an_async_test_that_snoozes_is_run_when_time_has_passed() -> None:
    app = make()
    clock = FakeClock()

    @app.task
    async def later(ctx: Context) -> str:
        if clock.now() == FakeClock().now():
            raise Snooze(30)
        return "now"

    async with sandbox(app, clock) as box:
        job = await later.aenqueue()
        assert await box.adrain(delayed=True) == 2
        assert await job.aresult() == "now"
