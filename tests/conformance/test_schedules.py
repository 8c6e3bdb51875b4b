"""put_schedules, due_schedules, fire and what belongs to them: each tick is written once, with its job."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conformance.kit import claim, counts, failed, ids, new, put, read, register, settle, state
from penstock.engine import STILL_RUNS, STILL_WAITS, TICKS_KEPT, JobFilter, ScheduleRow, Tick
from penstock.model.job import Edge, Ties
from penstock.model.states import State

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)  # where the clock stands
HOUR = timedelta(hours=1)
SPEC = '{"cron":"0 * * * *"}'


def row(schedule: str = "nightly", *, at: datetime | None = START, **more: Any) -> ScheduleRow:
    return ScheduleRow(id=schedule, **{"spec": SPEC, "source": "shop", "next_at": at, **more})


def tick(schedule: str = "nightly", *, due: datetime = START, **more: Any) -> Tick:
    made: dict[str, Any] = {"next_at": due + HOUR, "job": new(), **more}
    return Tick(schedule, due, **made)


async def one(engine, schedule: str = "nightly") -> ScheduleRow:
    [found] = [row for row in await engine.schedules() if row.id == schedule]
    return found


async def fired(engine, schedule: str = "nightly", **more: Any) -> str:
    """Fire the schedule's next tick, whatever the time is; the id of its job."""
    at = (await one(engine, schedule)).next_at
    record = await engine.fire(tick(schedule, due=at, **more))
    assert record is not None
    assert record.job_id is not None, record
    return record.job_id


# -- declare -------------------------------------------------------------------------------------------


async def test_a_schedule_is_kept_as_it_was_given(engine):
    given = [row("b", spec='{"text":"ä\\u0000\\"\\n"}', at=START + HOUR), row("a", source=None, paused=True)]
    await engine.put_schedules(given)
    found = await engine.schedules()
    assert [each.id for each in found] == ["a", "b"]
    assert found[1] == given[0]
    assert (found[0].source, found[0].paused, found[0].last_due, found[0].last_job) == (
        None,
        True,
        None,
        None,
    )


async def test_instants_keep_their_microseconds_and_the_ends_of_time(engine):
    instants = [
        datetime(1971, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 5, 12, 0, 0, 123_456, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ]
    await engine.put_schedules([row(f"s{n}", at=at) for n, at in enumerate(instants)])
    assert [each.next_at for each in await engine.schedules()] == instants


async def test_the_same_spec_changes_nothing(engine):
    await engine.put_schedules([row(at=START + HOUR)])
    await engine.put_schedules([row(at=START + 5 * HOUR)])
    assert (await one(engine)).next_at == START + HOUR


async def test_the_same_spec_keeps_what_has_happened(engine):
    await engine.put_schedules([row()])
    job = await fired(engine)
    await engine.put_schedules([row(at=START + 9 * HOUR)])
    found = await one(engine)
    assert (found.next_at, found.last_due, found.last_job) == (START + HOUR, START, job)


async def test_another_spec_comes_with_another_time(engine):
    await engine.put_schedules([row(at=START + HOUR)])
    await engine.put_schedules([row(spec='{"every":7200}', at=START + 2 * HOUR)])
    found = await one(engine)
    assert (found.spec, found.next_at) == ('{"every":7200}', START + 2 * HOUR)


async def test_another_spec_keeps_what_has_happened(engine):
    await engine.put_schedules([row()])
    job = await fired(engine)
    await engine.put_schedules([row(spec='{"every":7200}', at=START + 2 * HOUR)])
    found = await one(engine)
    assert (found.next_at, found.last_due, found.last_job) == (START + 2 * HOUR, START, job)
    assert len(await engine.ticks("nightly", 10)) == 1


@pytest.mark.parametrize("late", [0, 1, 7_200])
async def test_a_tick_that_was_due_survives_a_change(engine, clock, late):
    await engine.put_schedules([row(at=START + HOUR)])
    clock.advance(3_600 + late)
    await engine.put_schedules([row(spec='{"every":7200}', at=START + 5 * HOUR)])
    found = await one(engine)
    assert (found.spec, found.next_at) == ('{"every":7200}', START + HOUR)


async def test_a_schedule_that_had_come_to_its_end_begins_again_with_another_spec(engine):
    await engine.put_schedules([row(at=None)])
    await engine.put_schedules([row(spec='{"every":7200}', at=START + HOUR)])
    assert (await one(engine)).next_at == START + HOUR


async def test_a_change_may_bring_a_schedule_to_its_end(engine):
    await engine.put_schedules([row(at=START + HOUR)])
    await engine.put_schedules([row(spec='{"every":7200}', at=None)])
    assert (await one(engine)).next_at is None


async def test_another_source_takes_it_over_and_keeps_its_time(engine):
    await engine.put_schedules([row(source=None, at=START + HOUR)])
    await engine.put_schedules([row(source="shop", at=START + 5 * HOUR)])
    found = await one(engine)
    assert (found.source, found.next_at) == ("shop", START + HOUR)


async def test_a_change_does_not_resume(engine):
    await engine.put_schedules([row(at=START + HOUR)])
    await engine.pause_schedule("nightly", True, None)
    await engine.put_schedules([row(spec='{"every":7200}', at=START + 2 * HOUR, paused=False)])
    found = await one(engine)
    assert (found.spec, found.paused, found.next_at) == ('{"every":7200}', True, None)


async def test_what_is_said_of_the_past_is_not_read(engine):
    await engine.put_schedules([row(last_due=START, last_job="x")])
    found = await one(engine)
    assert (found.last_due, found.last_job) == (None, None)


async def test_several_are_put_in_at_once_and_none_is_fine(engine):
    await engine.put_schedules([row("a"), row("b")])
    await engine.put_schedules([])
    assert len(await engine.schedules()) == 2


# -- remove and pause ----------------------------------------------------------------------------------


async def test_a_removed_schedule_leaves_its_jobs(engine):
    await engine.put_schedules([row("a"), row("b")])
    job = await fired(engine, "a")
    assert await engine.remove_schedules(["a", "nobody", "a"]) == 1
    assert [each.id for each in await engine.schedules()] == ["b"]
    assert await engine.ticks("a", 10) == []
    assert await state(engine, job) is State.WAITING
    assert await engine.remove_schedules(["a"]) == await engine.remove_schedules([]) == 0


async def test_a_schedule_that_comes_back_has_no_past(engine):
    await engine.put_schedules([row()])
    await fired(engine)
    await engine.remove_schedules(["nightly"])
    await engine.put_schedules([row(at=START + 5 * HOUR)])
    found = await one(engine)
    assert (found.next_at, found.last_due, found.last_job) == (START + 5 * HOUR, None, None)
    assert await engine.ticks("nightly", 10) == []


async def test_a_removed_schedule_does_not_fire(engine):
    await engine.put_schedules([row()])
    await engine.remove_schedules(["nightly"])
    assert await engine.fire(tick()) is None
    assert await engine.ticks("nightly", 10) == []
    assert await counts(engine) == {}


async def test_a_paused_schedule_is_not_due_and_does_not_fire(engine):
    await engine.put_schedules([row()])
    assert await engine.pause_schedule("nightly", True, None)
    found = await one(engine)
    assert (found.paused, found.next_at) == (True, None)
    assert (await engine.due_schedules(10))[:2] == ([], None)
    assert await engine.fire(tick()) is None
    assert await counts(engine) == {}


async def test_a_resumed_schedule_goes_on_where_it_is_told(engine, clock):
    await engine.put_schedules([row()])
    await engine.pause_schedule("nightly", True, None)
    clock.advance(hours=3)
    assert await engine.pause_schedule("nightly", False, START + 4 * HOUR)
    found = await one(engine)
    assert (found.paused, found.next_at) == (False, START + 4 * HOUR)
    assert await engine.fire(tick()) is None
    clock.advance(hours=1)
    assert [each.id for each in (await engine.due_schedules(10)).schedules] == ["nightly"]


async def test_one_that_goes_on_anyhow_loses_no_tick_by_being_resumed(engine):
    await engine.put_schedules([row()])
    assert await engine.pause_schedule("nightly", False, START + 9 * HOUR)
    assert (await one(engine)).next_at == START


async def test_a_schedule_that_is_not_there_cannot_be_paused(engine):
    assert not await engine.pause_schedule("nobody", True, None)
    assert not await engine.pause_schedule("nobody", False, START)
    assert await engine.schedules() == []


# -- due -----------------------------------------------------------------------------------------------


async def test_the_longest_due_come_first(engine, clock):
    due = {"b": 2, "c": 0, "a": 2, "d": 1, "e": 9}
    await engine.put_schedules([row(name, at=START + n * HOUR) for name, n in due.items()])
    clock.advance(hours=2)
    found = await engine.due_schedules(10)
    assert [each.id for each in found.schedules] == ["c", "d", "a", "b"]
    assert found.schedules == [await one(engine, name) for name in ("c", "d", "a", "b")]
    assert found.next_in == pytest.approx(7 * 3_600)
    assert found.now == clock.now()


async def test_a_schedule_falls_due_at_its_instant(engine, clock):
    await engine.put_schedules([row(at=START + timedelta(seconds=1.5))])
    found = await engine.due_schedules(10)
    assert (found.schedules, found.next_in) == ([], pytest.approx(1.5))
    clock.advance(1.5)
    assert len((await engine.due_schedules(10)).schedules) == 1


async def test_more_than_were_asked_for_are_due_at_once(engine):
    await engine.put_schedules([row(name, at=START - n * HOUR) for n, name in enumerate("abc")])
    found = await engine.due_schedules(2)
    assert ([each.id for each in found.schedules], found.next_in) == (["c", "b"], 0)


async def test_only_the_times_can_be_asked_for(engine, clock):
    assert await engine.due_schedules(0) == ([], None, clock.now())
    await engine.put_schedules([row(at=START + HOUR)])
    assert await engine.due_schedules(0) == ([], 3_600, clock.now())


async def test_what_has_come_to_its_end_is_never_due(engine, clock):
    await engine.put_schedules([row(at=None)])
    clock.advance(days=4_000)
    assert (await engine.due_schedules(10))[:2] == ([], None)


async def test_the_engines_own_clock_judges_where_none_is_given(make_engine):
    engine = await make_engine(clock=None)
    before = datetime.now(UTC) - timedelta(seconds=5)
    await engine.put_schedules([row("past", at=before), row("future", at=before + HOUR)])
    found = await engine.due_schedules(10)
    assert [each.id for each in found.schedules] == ["past"]
    assert before < found.now < before + timedelta(minutes=1)
    assert found.next_in is not None
    assert 3_000 < found.next_in < 3_600


# -- fire ----------------------------------------------------------------------------------------------


async def test_a_tick_makes_its_job_and_moves_the_schedule_on(engine, worker, clock):
    await engine.put_schedules([row()])
    clock.advance(2)
    job = new(args='{"n":1}', priority=1, ties=Ties(origin="schedule nightly"))
    record = await engine.fire(tick(job=job))
    assert record == (START, clock.now(), job.id, None)
    found = await one(engine)
    assert (found.next_at, found.last_due, found.last_job) == (START + HOUR, START, job.id)
    made = await read(engine, job.id)
    assert (made.state, made.args, made.origin, made.due_at) == (
        State.WAITING, {"n": 1}, "schedule nightly", clock.now(),
    )  # fmt: skip
    assert ids(await claim(engine)) == [job.id]


async def test_a_tick_is_fired_once(engine):
    await engine.put_schedules([row()])
    assert await engine.fire(tick()) is not None
    assert await engine.fire(tick()) is None
    assert await counts(engine) == {State.WAITING: 1}
    assert len(await engine.ticks("nightly", 10)) == 1


async def test_a_tick_that_is_not_the_next_is_not_fired(engine):
    await engine.put_schedules([row(at=START + HOUR)])
    assert await engine.fire(tick(due=START)) is None
    assert await engine.fire(tick(due=START + 2 * HOUR)) is None
    assert await engine.fire(tick(due=START + HOUR - timedelta(microseconds=1))) is None
    assert await counts(engine) == {}


async def test_a_schedule_nobody_knows_does_not_fire(engine):
    assert await engine.fire(tick("nobody")) is None
    assert await counts(engine) == {}


async def test_the_time_is_not_looked_at(engine):
    await engine.put_schedules([row(at=START + 5 * HOUR)])
    assert await engine.fire(tick(due=START + 5 * HOUR)) is not None


async def test_the_last_tick_ends_the_schedule(engine):
    await engine.put_schedules([row()])
    await fired(engine, next_at=None)
    found = await one(engine)
    assert (found.next_at, found.last_due) == (None, START)


async def test_a_tick_may_be_let_pass(engine, clock):
    await engine.put_schedules([row()])
    first = await fired(engine)
    record = await engine.fire(tick(due=START + HOUR, job=None, note="it was missed"))
    assert record == (START + HOUR, clock.now(), None, "it was missed")
    found = await one(engine)
    assert (found.next_at, found.last_due, found.last_job) == (START + 2 * HOUR, START + HOUR, first)
    assert await counts(engine) == {State.WAITING: 1}


async def test_a_tick_that_runs_may_have_a_note_too(engine, clock):
    await engine.put_schedules([row()])
    job = await fired(engine, note="late")
    assert await engine.ticks("nightly", 10) == [(START, clock.now(), job, "late")]


async def test_two_engines_fire_a_tick_once(make_engine):
    engines = [await make_engine() for _ in range(4)]
    await engines[0].put_schedules([row()])
    for n in range(10):
        due = START + n * HOUR
        answers = await asyncio.gather(*(engine.fire(tick(due=due)) for engine in engines))
        [record] = [answer for answer in answers if answer is not None]
        assert record.due == due
    assert await counts(engines[1]) == {State.WAITING: 10}
    made = [record.job_id for record in await engines[2].ticks("nightly", 100)]
    assert sorted(made) == sorted(ids(await engines[3].jobs(JobFilter(), 100)))


async def test_a_delayed_job_waits_for_its_time(engine, worker):
    await engine.put_schedules([row()])
    job = await fired(engine, job=new(delay=60))
    assert await state(engine, job) is State.DELAYED


async def test_a_new_job_wakes_those_who_wait(engine, clock):
    await engine.put_schedules([row()])
    waiting = asyncio.create_task(engine.wait(["default"], 30))
    await asyncio.sleep(0.05)
    await fired(engine)
    await asyncio.wait_for(waiting, 10)


# -- overlap -------------------------------------------------------------------------------------------

FINISHED = (State.COMPLETED, State.FAILED, State.CANCELLED)


async def bring_to(engine, job: str, wanted: State) -> None:
    """Run a job, which must be the only one waiting, to the state it is to be in."""
    if wanted is State.CANCELLED:
        await engine.cancel([job], "no")
    elif wanted is not State.WAITING:
        [held] = await claim(engine)
        assert held.id == job
        if wanted is State.COMPLETED:
            await settle(engine, held)
        if wanted is State.FAILED:
            await settle(engine, held, failed())
    assert await state(engine, job) is wanted


@pytest.mark.parametrize("before", [State.WAITING, State.ACTIVE, *FINISHED])
async def test_overlap_is_allowed_unless_told_otherwise(engine, worker, before):
    await engine.put_schedules([row()])
    await bring_to(engine, await fired(engine), before)
    job = await fired(engine)
    assert await state(engine, job) is State.WAITING


@pytest.mark.parametrize("before", [State.WAITING, State.ACTIVE])
async def test_skip_lets_ticks_pass_while_the_run_before_has_not_ended(engine, worker, before):
    await engine.put_schedules([row()])
    first = await fired(engine, overlap="skip")
    await bring_to(engine, first, before)
    for n in (1, 2):
        record = await engine.fire(tick(due=START + n * HOUR, overlap="skip"))
        assert record is not None
        assert (record.job_id, record.note) == (None, STILL_RUNS)
    found = await one(engine)
    assert (found.last_due, found.next_at, found.last_job) == (START + 2 * HOUR, START + 3 * HOUR, first)
    assert sum((await counts(engine)).values()) == 1


@pytest.mark.parametrize("overlap", ["skip", "queue"])
@pytest.mark.parametrize("before", FINISHED)
async def test_a_run_that_has_ended_holds_nothing_up(engine, worker, before, overlap):
    await engine.put_schedules([row()])
    await bring_to(engine, await fired(engine), before)
    job = await fired(engine, overlap=overlap)
    found = await read(engine, job)
    assert (found.state, found.blocked_by) == (State.WAITING, ())


@pytest.mark.parametrize("overlap", ["skip", "queue"])
async def test_a_run_whose_record_is_gone_holds_nothing_up(engine, worker, overlap):
    await engine.put_schedules([row()])
    first = await fired(engine)
    await bring_to(engine, first, State.COMPLETED)
    assert await engine.delete([first]) == 1
    assert await state(engine, await fired(engine, overlap=overlap)) is State.WAITING


@pytest.mark.parametrize("overlap", ["skip", "queue"])
async def test_other_jobs_of_the_task_hold_nothing_up(engine, worker, overlap):
    await put(engine)
    await engine.put_schedules([row("a"), row("b")])
    await fired(engine, "a")
    assert await state(engine, await fired(engine, "b", overlap=overlap)) is State.WAITING


@pytest.mark.parametrize("end", FINISHED)
async def test_queue_lets_one_run_wait_for_the_one_before(engine, worker, end):
    await engine.put_schedules([row()])
    first = await fired(engine, overlap="queue")
    second = await fired(engine, overlap="queue")
    found = await read(engine, second)
    assert (found.state, found.blocked_by) == (State.BLOCKED, (first,))
    third = await engine.fire(tick(due=START + 2 * HOUR, overlap="queue"))
    assert third is not None
    assert (third.job_id, third.note) == (None, STILL_WAITS)
    assert (await one(engine)).last_job == second
    await bring_to(engine, first, end)
    assert await state(engine, second) is State.WAITING
    fourth = await fired(engine, overlap="queue")
    assert (await read(engine, fourth)).blocked_by == (second,)


async def test_queue_adds_to_what_the_job_waits_for_anyhow(engine, worker):
    await engine.put_schedules([row()])
    upstream = await put(engine, "other")
    first = await fired(engine)
    second = await fired(engine, overlap="queue", job=new(ties=Ties(after=(Edge(upstream, "wait"),))))
    assert set((await read(engine, second)).blocked_by) == {upstream, first}
    await bring_to(engine, first, State.FAILED)
    found = await read(engine, second)
    assert (found.state, found.blocked_by) == (State.BLOCKED, (upstream,))


async def test_a_tick_that_is_let_pass_anyhow_does_not_ask_for_the_run_before(engine, worker):
    await engine.put_schedules([row()])
    await fired(engine)
    record = await engine.fire(tick(due=START + HOUR, job=None, overlap="skip", note="it was missed"))
    assert record is not None
    assert record.note == "it was missed"


# -- keys and ids --------------------------------------------------------------------------------------


async def test_a_taken_key_makes_no_job_and_names_the_holder(engine):
    holder = await put(engine, key="k")
    await engine.put_schedules([row()])
    record = await engine.fire(tick(job=new(key="k")))
    assert record is not None
    assert record.job_id == holder
    assert await counts(engine) == {State.WAITING: 1}
    found = await one(engine)
    assert (found.last_due, found.last_job, found.next_at) == (START, None, START + HOUR)


@pytest.mark.parametrize("before", [State.WAITING, State.ACTIVE, *FINISHED])
async def test_a_job_that_is_there_already_is_not_made_again(engine, worker, before):
    job = new()
    await engine.enqueue([job])
    await bring_to(engine, job.id, before)
    await engine.put_schedules([row()])
    record = await engine.fire(tick(job=job))
    assert record is not None
    assert record.job_id == job.id
    assert await state(engine, job.id) is before
    assert sum((await counts(engine)).values()) == 1


# -- ties ----------------------------------------------------------------------------------------------


async def test_a_job_that_waits_for_a_tick_yet_to_come_runs_after_it(engine, worker):
    await engine.put_schedules([row("up"), row("down")])
    upstream = new(ties=Ties(feeds=True))
    down = await fired(engine, "down", job=new(ties=Ties(after=(Edge(upstream.id, "wait"),), feeds=True)))
    assert await state(engine, down) is State.BLOCKED
    await bring_to(engine, await fired(engine, "up", job=upstream), State.COMPLETED)
    assert ids(await claim(engine)) == [down]


# -- ticks ---------------------------------------------------------------------------------------------


async def test_ticks_are_told_newest_first(engine, clock):
    await engine.put_schedules([row("a"), row("b")])
    made = []
    for _ in range(5):
        made.append(await fired(engine, "a"))
        clock.advance(hours=1)
    records = await engine.ticks("a", 3)
    assert [record.job_id for record in records] == made[:1:-1]
    assert [record.due for record in records] == [START + n * HOUR for n in (4, 3, 2)]
    assert [record.fired_at for record in records] == [START + n * HOUR for n in (4, 3, 2)]
    assert await engine.ticks("b", 3) == await engine.ticks("nobody", 3) == []


async def test_the_latest_ticks_are_kept_and_no_more(engine):
    await engine.put_schedules([row("a"), row("b")])
    await fired(engine, "b")
    for _ in range(TICKS_KEPT + 3):
        due = (await one(engine, "a")).next_at
        await engine.fire(tick("a", due=due, job=None, note="missed"))
    await engine.tidy()
    records = await engine.ticks("a", 10 * TICKS_KEPT)
    assert [record.due for record in records] == [
        START + n * HOUR for n in range(TICKS_KEPT + 2, 2, -1)
    ]  # fmt: skip
    assert len(await engine.ticks("b", 10)) == 1


# -- time ----------------------------------------------------------------------------------------------


class JumpingClock:
    """A clock that also goes back."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at


@pytest.mark.parametrize("jump", [-3_600, -1, 3_600])
async def test_a_jump_of_the_clock_fires_no_tick_twice(make_engine, jump):
    clock = JumpingClock()
    engine = await make_engine(clock=clock)
    await engine.put_schedules([row()])
    for n in range(5):
        due = START + n * HOUR
        clock.at = due
        assert await engine.fire(tick(due=due)) is not None
        clock.at += timedelta(seconds=jump)
        found = await engine.due_schedules(10)
        assert [each.next_at for each in found.schedules] == ([due + HOUR] if jump == 3_600 else [])
        assert await engine.fire(tick(due=due)) is None
    assert await counts(engine) == {State.WAITING: 5}


async def test_schedules_are_seen_by_every_engine_on_the_storage(make_engine):
    one_engine, other = await make_engine(), await make_engine()
    await one_engine.put_schedules([row()])
    await register(other)
    assert [each.id for each in (await other.due_schedules(1)).schedules] == ["nightly"]
    job = await fired(other)
    assert (await one(one_engine)).last_job == job
