"""Why a job that is not due, or blocked, is not run; where one runs; how one ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from conformance.kit import error
from looking.conftest import World
from penstock import JobNotFound, Penstock, Snooze, Unrecoverable
from penstock.engine import Retention
from penstock.ledger.sqlite import SqliteLedger
from penstock.model.clock import EngineClock
from penstock.model.decide import judge
from penstock.model.outcome import COMPLETED, Retried
from penstock.model.states import State
from penstock.ops import Ops
from penstock.tasks.ids import new_id
from penstock.why import Because
from penstock.why.causes import MEANING


@pytest.fixture
def work(shop: Penstock):
    @shop.task
    async def work(n: int = 0) -> None: ...

    return work


# -- delayed ----------------------------------------------------------------------------------------
async def test_a_delayed_job_tells_when_it_is_due(world: World, work) -> None:
    job = await work.using(delay=90).aenqueue()
    await world.hire()
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.DELAYED, f"retry {job.id}")
    assert cause.until == world.clock.now() + timedelta(seconds=90)
    assert cause.text.endswith("UTC, in 1 min 30 s.")


async def test_a_retry_tells_after_which_error_it_backs_off(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()
    [held] = await world.take()
    await world.end(held, Retried(30.0, error("no route to host")))
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.RETRY, f"retry {job.id}")
    assert "Attempt 1 of 3 failed (Boom: no route to host): it is tried again at" in cause.text
    assert "in 30 s" in cause.text


async def test_a_snoozed_job_tells_what_its_run_has_said(world: World) -> None:
    @world.app.task
    async def later() -> None:
        raise Snooze(60, "the market is closed")

    job = await later.aenqueue()
    await world.work()
    await world.hire()
    cause = await world.cause(job)
    assert cause.because is Because.SNOOZED
    assert "the market is closed" in cause.text


async def test_what_will_hold_a_delayed_job_later_is_told_too(world: World, work) -> None:
    job = await work.using(delay=90).aenqueue()
    await world.app.ops.pause("default")
    assert await world.causes(job) == [Because.DELAYED, Because.PAUSED, Because.NO_WORKER]
    world.clock.advance(100)  # due, and nobody is there to see it
    assert await world.causes(job) == [Because.PAUSED, Because.NO_WORKER, Because.DELAYED]


# -- blocked ----------------------------------------------------------------------------------------
async def test_a_blocked_job_names_the_job_it_waits_for_and_its_state(world: World, work) -> None:
    flow = world.app.flow("pair")
    first = flow.add(work.call(n=1))
    flow.add(work.call(n=2), after=[first])
    handle = await flow.aenqueue()
    upstream, downstream = (job.id for job in (await world.app.ops.flows.flow(handle.id)).jobs)
    await world.hire()
    cause = await world.cause(downstream)
    assert (cause.because, cause.next, cause.jobs) == (Because.BLOCKED, f"why {upstream}", (upstream,))
    assert f"It waits for job {upstream} (work), which is waiting." in cause.text
    await world.take()
    assert "which is active." in (await world.cause(downstream)).text


async def test_a_job_behind_a_schedule_names_it_its_tick_and_the_deadline(world: World, work) -> None:
    world.app.schedule("features", work, every=3600)
    world.app.schedule("graph", work, every=3600, after=["features"])
    await world.declare()
    await world.app.ops.timetable.pause("features")
    world.clock.advance(3700)
    await world.work()
    [job] = await world.app.engine.jobs(_blocked(), 10)
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.BLOCKED, "schedules resume features")
    assert "It waits for schedule 'features', whose tick of" in cause.text
    assert "the schedule is paused" in cause.text
    assert cause.until == job.deadline_at is not None


async def test_a_job_behind_one_that_failed_tells_to_run_that_again(world: World) -> None:
    fails = [True]

    @world.app.task
    async def features() -> None:
        if fails[0]:
            raise Unrecoverable("no data")

    @world.app.task
    async def graph() -> None: ...

    world.app.schedule("features", features, every=3600)
    world.app.schedule("graph", graph, every=3600, after=["features"])
    await world.declare()
    world.clock.advance(3700)
    await world.work()
    [job] = await world.app.engine.jobs(_blocked(), 10)
    cause = await world.cause(job)
    [upstream] = cause.jobs
    assert (cause.because, cause.next) == (Because.BLOCKED, f"retry {upstream}")
    assert "made by schedule features, tick of" in cause.text


def _blocked():
    from penstock.engine import JobFilter

    return JobFilter(state=State.BLOCKED)


# -- active -----------------------------------------------------------------------------------------
async def test_a_running_job_tells_where_and_since_when(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()
    [held] = await world.take()
    await world.app.engine.progress(held.id, held.token, '{"percent": 40, "message": "rendering"}')
    world.clock.advance(70)
    [cause] = (await world.why(job)).causes
    assert cause.because is Because.RUNNING
    assert "running for 1 min 10 s on worker host:w, attempt 1 of 3, 40 % rendering." in cause.text
    await world.app.ops.cancel(job.id)
    assert await world.causes(job) == [Because.STOPPING, Because.RUNNING]


async def test_a_run_past_its_timeout_is_overdue(world: World, work) -> None:
    job = await work.using(timeout=60).aenqueue()
    await world.hire()
    await world.take()
    world.clock.advance(65)
    assert await world.causes(job) == [Because.RUNNING]
    world.clock.advance(60)
    assert await world.causes(job) == [Because.OVERDUE, Because.RUNNING]
    assert "Its timeout of 1 min passed 1 min 5 s ago" in (await world.cause(job)).text


async def test_a_job_in_a_lost_workers_hand_tells_who_will_rescue_it(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire(ttl=30)
    await world.take()
    world.clock.advance(50)
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.WORKER_LOST, "worker")
    assert "host:w was lost 20 s ago" in cause.text
    await world.hire(name="other")
    assert (await world.cause(job)).next == "workers"
    await world.app.engine.rescue(10, judge)
    assert await world.causes(job) == [Because.UNCLAIMED]


# -- ended ------------------------------------------------------------------------------------------
async def test_a_finished_job_tells_how_it_ended(world: World, work) -> None:
    jobs = [await work.aenqueue() for _ in range(2)]
    await world.hire()
    [held] = await world.take()
    await world.end(held, COMPLETED)
    await world.app.ops.cancel(jobs[1].id, "not wanted")
    assert await world.causes(jobs[0]) == [Because.COMPLETED]
    cause = await world.cause(jobs[1])
    assert cause.because is Because.CANCELLED
    assert "not wanted" in cause.text


async def test_a_failed_job_leads_to_its_recovery(world: World) -> None:
    @world.app.task
    async def fail() -> None:
        raise Unrecoverable("no such order")

    job = await fail.aenqueue()
    await world.work()
    cause = await world.cause(job)
    assert (cause.because, cause.next) == (Because.FAILED, f"retry {job.id}")
    assert "(unrecoverable), on attempt 1 of 3, with Unrecoverable: no such order" in cause.text
    again = await world.app.ops.retry(job.id)
    cause = await world.cause(job)
    assert (cause.next, cause.jobs) == (f"why {again.job_id}", (again.job_id,))


@pytest.mark.parametrize("place", ["memory", "postgres"], indirect=True)  # Redis has no history
async def test_a_pruned_job_is_told_by_the_history(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()
    [held] = await world.take()
    await world.end(held, COMPLETED)
    await world.app.engine.prune(Retention("default", keep_completed=0), 10)
    cause = await world.cause(job)
    assert cause.because is Because.COMPLETED
    assert "has been pruned" in cause.text


async def test_a_job_that_never_was_is_told_so(world: World) -> None:
    with pytest.raises(JobNotFound):
        await world.why(new_id())


# -- for programs -----------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["memory"], indirect=True)
async def test_what_is_told_to_programs_is_plain(world: World, work) -> None:
    job = await work.using(delay=60).aenqueue()
    told = (await world.why(job)).as_dict()
    assert (told["job_id"], told["task"], told["queue"], told["state"]) == (
        job.id,
        "work",
        "default",
        "delayed",
    )
    assert [cause["because"] for cause in told["causes"]] == ["delayed", "no-worker"]
    assert told["causes"][0]["next"] == f"penstock retry {job.id}"
    assert told["causes"][0]["until"] == (world.clock.now() + timedelta(seconds=60)).isoformat()


@pytest.mark.parametrize("place", ["memory"], indirect=True)
async def test_an_owner_is_told_of_no_other_job_no_worker_and_no_command(world: World) -> None:
    @world.app.task(concurrency=1)
    async def report() -> None: ...

    jobs = [await report.aenqueue() for _ in range(2)]
    await world.hire()
    await world.declare()
    await world.take()
    told = (await world.why(jobs[1])).as_dict(narrow=True)
    assert told["causes"] == [{"because": "concurrency", "text": "A limit is reached.", "until": None}]
    assert set(MEANING) == set(Because)


@pytest.mark.parametrize("place", ["memory"], indirect=True)
async def test_a_job_that_moves_on_while_it_is_looked_at_is_told_as_it_is_then(world: World, work) -> None:
    job = await work.aenqueue()
    await world.hire()

    class Moving:
        """The real engine; the job is taken while the limits are asked for."""

        def __getattr__(self, verb: str) -> Any:
            return getattr(world.app.engine, verb)

        async def limits_of(self, lane: str) -> Any:
            await world.take()
            return await world.app.engine.limits_of(lane)

    found = await Ops(Moving(), world.app.registry).why(job.id)
    assert (found.state, [cause.because for cause in found.causes]) == ("active", [Because.RUNNING])


async def test_while_redis_is_away_the_ledger_tells_of_the_job(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("penstock.engines.redis.server.TRIES", 1)  # of each call: the server is away for good
    await SqliteLedger(str(tmp_path / "ledger.db"), "penstock", EngineClock()).migrate()
    app = Penstock("redis://127.0.0.1:1/0", ledger=f"sqlite:///{tmp_path / 'ledger.db'}")

    @app.task
    async def work() -> None: ...

    async with app:
        job = await work.aenqueue()
        [cause] = (await app.ops.why(job.id)).causes
    assert (cause.because, cause.next) == (Because.ENGINE_AWAY, "doctor")
    assert "The job is kept" in cause.text
