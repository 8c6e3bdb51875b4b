"""Upkeep: each chore does one bounded round and says when to come again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from runtime_kit import Flaky, make_app, make_worker

from penstock import EngineUnavailable, Penstock, State
from penstock.engine import Expired, HistoryFilter, Outlook, Rescued, ScheduleRow, Settlement, Want
from penstock.model.clock import FakeClock
from penstock.model.job import Edge, NewJob, Ties
from penstock.model.outcome import COMPLETED, Failed
from penstock.model.states import Status
from penstock.runtime import after_work
from penstock.runtime import sweeper as sweepers
from penstock.runtime.account import Account
from penstock.runtime.after_work import AfterWork
from penstock.runtime.sweeper import Sweeper
from penstock.tasks.ids import new_id


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("brief", keep_completed=1)

    @made.task
    def hello() -> None: ...

    @made.task(queue="brief")
    def brief() -> None: ...

    async with made:
        yield made


@pytest.fixture
def clock(app: Penstock) -> FakeClock:
    assert isinstance(app._clock, FakeClock)
    return app._clock


@pytest.fixture
def engine(app: Penstock) -> Flaky:
    return Flaky(app.engine)


@pytest.fixture
def sweeper(app: Penstock, engine: Flaky) -> Sweeper:
    return Sweeper(engine, app.worker_host().options)  # type: ignore[arg-type]


async def next_round(sweeper: Sweeper) -> float:
    """Do what is to be done next, now; in how many seconds it comes again."""
    chore = min(sweeper._chores, key=lambda each: sweeper._chores[each])
    sweeper._chores[chore] = time.monotonic() + sweepers.SELDOM
    again = await chore()
    sweeper._chores[chore] = min(sweeper._chores[chore], time.monotonic() + again)
    return again


async def at_rest(sweeper: Sweeper) -> None:
    """Every chore has been done once."""
    for _ in range(len(sweeper._chores) - 1):
        await next_round(sweeper)


async def state(app: Penstock, job_id: str) -> State | None:
    job = await app.engine.get(job_id)
    return None if job is None else job.state


async def test_what_falls_due_is_staged_and_the_next_due_time_told(
    app: Penstock, clock: FakeClock, sweeper: Sweeper
) -> None:
    job = await app.tasks["hello"].using(delay=10).aenqueue()
    assert await sweeper.stage() == pytest.approx(10)
    clock.advance(9.5)
    assert await sweeper.stage() == pytest.approx(0.5)
    clock.advance(1)
    assert await sweeper.stage() == sweepers.SELDOM
    assert await state(app, job.id) is State.WAITING


async def test_where_there_is_nothing_to_do_only_one_look_is_asked_for(
    app: Penstock, sweeper: Sweeper, engine: Flaky
) -> None:
    await app.tasks["hello"].using(delay=600).aenqueue()
    await at_rest(sweeper)
    engine.calls.clear()
    for _ in range(3):
        assert 0 < await next_round(sweeper) <= sweepers.LOOK_AHEAD
    assert engine.verbs() == ["outlook"] * 3


async def test_what_a_look_finds_due_is_staged_on_time(
    app: Penstock, clock: FakeClock, sweeper: Sweeper
) -> None:
    await at_rest(sweeper)
    job = await app.tasks["hello"].using(delay=0.5).aenqueue()
    await sweeper.look()
    assert sweeper._chores[sweeper.stage] - time.monotonic() == pytest.approx(0.5, abs=0.2)
    clock.advance(1)
    await sweeper.look()
    assert sweeper._chores[sweeper.stage] <= time.monotonic()
    await next_round(sweeper)
    assert await state(app, job.id) is State.WAITING


async def test_a_look_tells_the_scheduler_when_the_next_tick_is_due(app: Penstock, clock: FakeClock) -> None:
    told: list[float] = []
    sweeper = Sweeper(app.engine, app.worker_host().options, tick_in=told.append)
    await sweeper.look()
    due = clock.now() + timedelta(seconds=20)
    await app.engine.put_schedules([ScheduleRow(id="s", spec="{}", next_at=due)])
    await sweeper.look()
    clock.advance(21)
    await sweeper.look()
    assert told == [pytest.approx(20), 0.0]


async def test_lost_workers_are_looked_for_six_times_in_a_lease(app: Penstock) -> None:
    options = replace(app.worker_host().options, lease=3.0)
    assert 0 < await Sweeper(app.engine, options).look() <= 0.5


async def test_a_lost_worker_that_a_look_has_seen_is_rescued_at_once(
    app: Penstock, clock: FakeClock, sweeper: Sweeper, engine: Flaky
) -> None:
    await at_rest(sweeper)
    await app.engine.register(make_worker(app).info(), 30.0)
    clock.advance(31)
    await sweeper.look()
    await next_round(sweeper)
    assert engine.verbs()[-2:] == ["outlook", "rescue"]
    assert await app.engine.workers() == []


async def test_what_cannot_be_taken_back_is_not_tried_at_every_look(
    app: Penstock, sweeper: Sweeper, engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody_can(*_: object) -> list[Rescued]:
        return []

    async def lost() -> Outlook:
        return Outlook(None, None, lost=True)

    await at_rest(sweeper)
    monkeypatch.setattr(engine, "rescue", nobody_can, raising=False)
    monkeypatch.setattr(engine, "outlook", lost, raising=False)
    await sweeper.look()
    assert sweeper._chores[sweeper.rescue] <= time.monotonic()
    sweeper._chores[sweeper.rescue] = time.monotonic() + await sweeper.rescue()
    await sweeper.look()
    assert 4 < sweeper._chores[sweeper.rescue] - time.monotonic() <= 5  # a sixth of the lease


async def test_more_that_lies_about_than_should_is_tidied_though_no_job_has_ended_here(
    app: Penstock, sweeper: Sweeper, engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def untidy() -> Outlook:
        return Outlook(None, None, lost=False, untidy=True)

    await at_rest(sweeper)
    before = engine.verbs().count("tidy")
    await sweeper._tidying()
    assert engine.verbs().count("tidy") == before, "nothing has ended since"
    monkeypatch.setattr(engine, "outlook", untidy, raising=False)
    await sweeper.look()
    assert sweeper._chores[sweeper._tidying] <= time.monotonic()
    await sweeper._tidying()
    assert engine.verbs().count("tidy") == before + 1


async def test_what_cleans_up_after_work_rests_while_there_is_none(
    app: Penstock, engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account(engine)  # type: ignore[arg-type]
    sweeper = Sweeper(engine, app.worker_host().options, account)  # type: ignore[arg-type]
    tidy = AfterWork(sweeper.tidy, account)
    for _ in range(3):
        assert 20 < await tidy() <= 30
    assert engine.verbs().count("tidy") == 1
    account.expired([Expired(new_id(), "brief", "brief", None, State.CANCELLED, missed=False)])
    for _ in range(3):
        await tidy()
    assert engine.verbs().count("tidy") == 2
    monkeypatch.setattr(after_work, "LONGEST_REST", 0.0)
    await tidy()
    assert engine.verbs().count("tidy") == 3


async def test_a_chore_that_is_not_through_does_not_rest(engine: Flaky) -> None:
    again = [0.1, 1.0, 60.0]
    done = AfterWork(lambda: asyncio.sleep(0, again.pop(0)), Account(engine))  # type: ignore[arg-type]
    assert [await done(), await done(), await done()] == [0.1, 1.0, 60.0]
    assert 20 < await done() <= 30


async def test_a_chore_that_failed_does_not_rest(sweeper: Sweeper, engine: Flaky) -> None:
    engine.before["tidy"] = [EngineUnavailable("away")]
    tidy = AfterWork(sweeper.tidy, Account(engine))  # type: ignore[arg-type]
    assert await sweeper._round(tidy) <= 1.0
    await tidy()
    assert engine.verbs().count("tidy") == 2


async def test_jobs_of_a_lost_worker_are_rescued_and_logged(
    app: Penstock, clock: FakeClock, sweeper: Sweeper, caplog: pytest.LogCaptureFixture
) -> None:
    job = await app.tasks["hello"].aenqueue()
    worker = make_worker(app)
    await app.engine.register(worker.info(), 30.0)
    await app.engine.claim(Want(worker.id, "r", {"default": 1}, 1, app.registry.fingerprints(), 1))
    clock.advance(31)
    with caplog.at_level(logging.WARNING, "penstock.sweeper"):
        assert await sweeper.rescue() > 60
    assert job.id in caplog.text
    assert await state(app, job.id) is State.WAITING


async def test_expired_jobs_are_cancelled(app: Penstock, clock: FakeClock, sweeper: Sweeper) -> None:
    job = await app.tasks["hello"].using(expire_after=5).aenqueue()
    clock.advance(6)
    assert await sweeper.expire() > 1
    assert await state(app, job.id) is State.CANCELLED


async def test_what_the_sweep_ends_is_counted_and_its_dead_letters_too(
    app: Penstock, engine: Flaky, clock: FakeClock
) -> None:
    account = Account(engine)  # type: ignore[arg-type]
    await app.tasks["hello"].using(expire_after=5).aenqueue()
    for how in ("skip", "fail", "run"):
        ties = Ties(after=(Edge(new_id(), "wait"),), deadline=5, at_deadline=how)
        job = NewJob(new_id(), "brief", "brief", ties=ties)
        await app.engine.enqueue([job._replace(key=job.id)])
    clock.advance(6)
    await Sweeper(engine, app.worker_host().options, account).expire()  # type: ignore[arg-type]
    await account.tell()
    counted = {sample.task: sample.measures for sample in await app.engine.totals()}
    assert counted == {"hello": {"expired": 1}, "brief": {"missed": 3, "failed": 1, "dead": 1}}


async def test_finished_jobs_beyond_what_the_queue_keeps_are_pruned(app: Penstock, sweeper: Sweeper) -> None:
    jobs = [await app.tasks["brief"].aenqueue() for _ in range(3)]
    worker = make_worker(app)
    await app.engine.register(worker.info(), 30.0)
    want = Want(worker.id, "r", {"brief": 9}, 9, app.registry.fingerprints(), 9)
    for claim in (await app.engine.claim(want)).claims:
        await app.engine.settle([Settlement(claim.id, claim.token, COMPLETED)])
    assert await sweeper.prune() > 1
    assert [await state(app, job.id) for job in jobs] == [None, None, State.COMPLETED]


async def test_a_full_step_is_followed_by_another_soon(
    app: Penstock, clock: FakeClock, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweepers, "STEP", 1)
    for _ in range(2):
        await app.tasks["hello"].using(expire_after=1).aenqueue()
    clock.advance(2)
    assert await sweeper.expire() == 0.0
    assert await sweeper.expire() == 0.0
    assert await sweeper.expire() > 1


async def test_the_audit_log_is_forgotten_by_age_alone(app: Penstock, clock: FakeClock) -> None:
    sweeper = Sweeper(app.engine, replace(app.worker_host().options, keep_audit=10.0))
    await app.engine.put_note("audit", "old", "{}")
    clock.advance(11)
    await app.engine.put_note("audit", "young", "{}")
    assert await sweeper.forget_audit() > 60
    assert [note.key for note in await app.engine.notes("audit", 10)] == ["young"]


async def test_purge_and_tidy_come_again_later(sweeper: Sweeper) -> None:
    assert await sweeper.purge() > 60
    assert await sweeper.tidy() > 1


async def test_a_pruned_job_goes_to_the_history_which_is_bounded_too(
    app: Penstock, engine: Flaky, clock: FakeClock
) -> None:
    jobs = [await app.tasks["hello"].aenqueue() for _ in range(3)]
    await app.worker().run(burst=True)
    host = app.worker_host()
    kept = replace(host.options.retentions[0], keep_completed=0)
    options = replace(host.options, retentions=(kept,), keep_history=2)
    sweeper = Sweeper(engine, options)  # type: ignore[arg-type]
    await sweeper.prune()
    assert [await state(app, job.id) for job in jobs] == [None] * 3
    assert (await app.ops.record(jobs[0].id)).status is Status.COMPLETED
    assert await sweeper.forget() > 1
    assert len(await app.ops.history(HistoryFilter())) == 2


@pytest.mark.parametrize("off", [{"keep_history": 0}, {"keep_history_for": 0.0}], ids=str)
async def test_where_there_is_no_history_pruned_jobs_are_gone(
    app: Penstock, engine: Flaky, clock: FakeClock, off: dict[str, Any]
) -> None:
    await app.tasks["hello"].aenqueue()
    await app.worker().run(burst=True)
    host = app.worker_host()
    kept = replace(host.options.retentions[0], keep_completed=0)
    await Sweeper(engine, replace(host.options, retentions=(kept,), **off)).prune()  # type: ignore[arg-type]
    assert await app.ops.history(HistoryFilter()) == []


async def test_a_chore_that_finds_the_engine_away_is_put_off(
    sweeper: Sweeper, engine: Flaky, caplog: pytest.LogCaptureFixture
) -> None:
    engine.before["expire"] = [EngineUnavailable("away")]
    with caplog.at_level(logging.WARNING, "penstock.sweeper"):
        assert 0 < await sweeper._round(sweeper.expire) <= 1.0
    assert "put off" in caplog.text


async def test_every_chore_is_done(sweeper: Sweeper, engine: Flaky) -> None:
    sweeping = asyncio.create_task(sweeper.run())
    async with asyncio.timeout(10):
        while {"stage", "rescue", "expire", "prune", "purge", "forget", "tidy"} - set(engine.verbs()):
            await asyncio.sleep(0)
    sweeping.cancel()
    cleaned_up = [more for verb, _, more in engine.calls if verb == "prune" and more]
    assert cleaned_up


async def test_a_job_of_ours_that_falls_due_is_staged_then_and_not_at_the_next_look(
    sweeper: Sweeper, engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweepers, "LOOK_AHEAD", 600.0)
    sweeping = asyncio.create_task(sweeper.run())
    async with asyncio.timeout(10):
        while not sweeper._chores[sweeper.stage] - time.monotonic() > 60:
            await asyncio.sleep(0)
        sweeper.due_in(0.0)
        sweeper.due_in(60.0)
        while engine.verbs().count("stage") < 2:
            await asyncio.sleep(0)
    sweeping.cancel()


async def test_a_job_of_ours_that_falls_due_during_a_look_is_staged_by_the_next(
    sweeper: Sweeper, engine: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweepers, "LOOK_AHEAD", 600.0)
    looked = asyncio.Event()
    due = [0.0]

    async def stage(_limit: int) -> None:
        await asyncio.sleep(0)
        if due:
            sweeper.due_in(due.pop())
        else:
            looked.set()

    engine.stage = stage  # type: ignore[attr-defined]
    sweeping = asyncio.create_task(sweeper.run())
    await asyncio.wait_for(looked.wait(), 10)
    sweeping.cancel()


async def test_what_is_too_old_is_cleaned_up_once_a_day_by_the_first_who_comes(
    app: Penstock, clock: FakeClock, engine: Flaky
) -> None:
    job = await app.tasks["hello"].aenqueue()
    worker = make_worker(app)
    await app.engine.register(worker.info(), 30.0)
    want = Want(worker.id, "r", {"default": 9}, 9, app.registry.fingerprints(), 9)
    for claim in (await app.engine.claim(want)).claims:
        await app.engine.settle([Settlement(claim.id, claim.token, COMPLETED)])
    options = app.worker_host().options
    first, second = (Sweeper(engine, options, now=clock.now) for _ in range(2))  # type: ignore[arg-type]
    assert 0 < await first.clean_up() <= 86_460
    clock.advance(hours=25)
    await first.prune()
    assert await state(app, job.id) is State.COMPLETED
    await second.clean_up()
    assert await state(app, job.id) is None
    runs = [more["run"] for verb, _, more in engine.calls if verb == "prune" and more]
    assert len(set(runs)) == 2


async def test_the_daily_clean_up_is_of_three_at_night_and_removes_a_thousand_of_a_queue_at_most(
    app: Penstock, clock: FakeClock, engine: Flaky
) -> None:
    options = app.worker_host().options
    sweeper = Sweeper(engine, options, now=clock.now)  # type: ignore[arg-type]
    assert clock.now() == datetime(2026, 1, 5, 12, tzinfo=UTC)
    day = timedelta(days=1).total_seconds()
    until_next = await sweeper.clean_up()
    assert 15 * 3_600 <= until_next <= 15 * 3_600 + 60
    clock.advance(hours=14, minutes=59)
    assert 60 <= await sweeper.clean_up() <= 120
    clock.advance(minutes=1)
    assert day <= await sweeper.clean_up() <= day + 60
    asked = [(args[0], args[1], more["run"]) for verb, args, more in engine.calls if verb == "prune"]
    assert {kept.queue for kept, _, _ in asked} == {"default", "brief"}
    for kept in options.retentions:
        theirs = [(limit, run) for each, limit, run in asked if each.queue == kept.queue]
        assert theirs == [
            (1_000, "2026-01-05T03:00:00+00:00"),
            (1_000, "2026-01-05T03:00:00+00:00"),
            (1_000, "2026-01-06T03:00:00+00:00"),
        ]


async def test_dead_letters_are_kept_for_thirty_days(app: Penstock, clock: FakeClock, engine: Flaky) -> None:
    job = await app.tasks["hello"].aenqueue()
    worker = make_worker(app)
    await app.engine.register(worker.info(), 30.0)
    want = Want(worker.id, "r", {"default": 9}, 9, app.registry.fingerprints(), 9)
    [claim] = (await app.engine.claim(want)).claims
    await app.engine.settle([Settlement(claim.id, claim.token, Failed("exhausted", None))])
    sweeper = Sweeper(engine, app.worker_host().options)  # type: ignore[arg-type]
    clock.advance(days=29)
    await sweeper.purge()
    assert await app.engine.dead_letter(job.id) is not None
    clock.advance(days=2)
    await sweeper.purge()
    assert await app.engine.dead_letter(job.id) is None
