"""app.schedule and upsert_schedule: what may be declared, what is refused, and whose options win."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from types import ModuleType

import pytest

from penstock import ActionRefused, CalledInLoop, InvalidArguments, InvalidOption, Penstock, Priority, Retry
from penstock.engine import Retention
from penstock.model.job import NewJob, Ties, Window
from penstock.runtime.announce import announce
from penstock.tasks.schedules import name_of
from penstock.tasks.spec import Spec, read_spec, retentions, unshelved
from penstock.testing import FakeClock, sandbox

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def app():
    app = Penstock("sqlite://:memory:")
    app.queue("slow", priority="low", retry=7, keep_completed=100, keep_failed=200, keep_for=3_600)

    @app.task(queue="slow", timeout=60)
    async def build(day: str = "today") -> None: ...

    return app


def declared(app: Penstock, *args, **options) -> Spec:
    app.schedule("nightly", *args, **options)
    return app.registry.schedules.declared["nightly"]


# -- refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "either cron= or every="),
        ({"every": 5, "cron": "* * * * *"}, "either cron= or every="),
        ({"cron": "0 0 31 2 *"}, "no such month has 31 days"),
        ({"cron": "0 0 * * *", "tz": "America/Sao_Paolo"}, "no time zone 'America/Sao_Paolo'"),
        ({"every": 5, "overlap": "wait"}, "overlap= is one of 'allow', 'skip', 'queue', not 'wait'"),
        ({"every": 5, "missed": "some"}, "missed= is one of 'skip', 'once', 'all', not 'some'"),
        ({"every": 5, "after": "up"}, r"after= takes a list of names: after=\['up'\]"),
        ({"every": 5, "after": ["nightly"]}, "cannot come after itself"),
        ({"every": 5, "after": ["nobody"]}, "comes after 'nobody': declare that one before it"),
        ({"every": 5, "deadline": 60}, "deadline= bounds the wait for after="),
        ({"every": 5, "on_deadline": "run"}, "deadline= bounds the wait for after="),
        ({"every": 5, "after": ["up"], "on_deadline": "wait"}, "on_deadline= is one of"),
        ({"every": 5, "after": ["up"], "deadline": -1}, "deadline takes seconds"),
        ({"every": 5, "keep_completed": -1}, "keep_completed takes a whole number"),
        ({"every": 5, "priority": "urgent"}, "unknown priority 'urgent'"),
        ({"every": 5, "timeout": 0}, "timeout of 0"),
        ({"every": 5, "start": NOON.replace(tzinfo=None)}, "start= takes a datetime with a time zone"),
        ({"every": 5, "evry": 5}, "there is no option 'evry'"),
    ],
)
def test_what_cannot_be_is_refused_by_the_schedules_name(app, options, why):
    app.schedule("up", app.tasks["build"], every=5)
    with pytest.raises(InvalidOption, match=why) as caught:
        app.schedule("nightly", app.tasks["build"], **options)
    assert "schedule 'nightly'" in str(caught.value)
    assert "nightly" not in app.registry.schedules.declared


def test_arguments_are_checked_when_it_is_declared(app):
    with pytest.raises(InvalidArguments, match="day"):
        app.schedule("nightly", app.tasks["build"], every=5, args={"day": 5})


@pytest.mark.parametrize("name", ["", "two words", "a" * 129, "@x", "-x"])
def test_a_name_must_be_one(app, name):
    with pytest.raises(InvalidOption, match="schedule name"):
        app.schedule(name, app.tasks["build"], every=5)


def test_only_a_task_or_a_call_can_be_scheduled(app):
    with pytest.raises(InvalidOption, match="give it a task of the app"):
        app.schedule("nightly", print, every=5)
    with pytest.raises(InvalidOption, match="which has its arguments already"):
        app.schedule("nightly", app.tasks["build"].call(), every=5, args={"day": "x"})
    with pytest.raises(InvalidOption, match="mapping"):
        app.schedule("nightly", app.tasks["build"], every=5, args=["x"])


def test_a_task_of_another_app_is_not_ours_to_schedule(app):
    other = shop("other")
    for target in (other.tasks["work"], other.tasks["work"].using(owner="x"), other.tasks["work"].call()):
        with pytest.raises(InvalidOption, match="'nightly': task 'work' is one of another app"):
            app.schedule("nightly", target, every=5)


def test_the_same_twice_is_fine_and_another_is_not(app):
    app.schedule("nightly", app.tasks["build"], every=5)
    app.schedule("nightly", app.tasks["build"], every=timedelta(seconds=5))
    with pytest.raises(InvalidOption, match="declared already"):
        app.schedule("nightly", app.tasks["build"], every=6)


# -- options --------------------------------------------------------------------------------------------


def test_the_jobs_are_those_of_the_task(app):
    job = declared(app, app.tasks["build"], every=5, args={"day": "monday"}).job
    assert (job.queue, job.task, job.args) == ("slow", "build", '{"day":"monday"}')
    assert (job.priority, job.max_attempts, job.options) == (Priority.LOW, 7, None)


def test_the_schedules_options_come_before_the_tasks(app):
    job = declared(
        app, app.tasks["build"], every=5, priority="high", owner="ana", retry=2, timeout=9, expire_after=60
    ).job
    assert (job.priority, job.owner, job.max_attempts, job.expire_after) == (Priority.HIGH, "ana", 2, 60)
    assert app.tasks["build"].timeout_for(job.options) == 9


def test_the_calls_options_come_before_the_schedules(app):
    call = app.tasks["build"].using(priority="critical", retry=Retry.fixed(4, 1)).call(day="x")
    job = declared(app, call, every=5, priority="high", retry=2, timeout=9, owner="ana").job
    assert (job.priority, job.max_attempts, job.owner, job.args) == (1, 4, "ana", '{"day":"x"}')
    assert app.tasks["build"].timeout_for(job.options) == 9
    assert app.tasks["build"].policy_for(job.options) == Retry.fixed(4, 1)


def test_what_is_kept_is_inherited_from_the_queue_where_it_is_not_given(app):
    assert declared(app, app.tasks["build"], every=5).kept is None
    app.schedule("short", app.tasks["build"], every=5, keep_completed=10)
    app.schedule("long", app.tasks["build"], every=5, keep_completed=None, keep_failed=1)
    kept = {name: spec.kept for name, spec in app.registry.schedules.declared.items()}
    assert kept == {"nightly": None, "short": (10, 200, 3_600), "long": (None, 1, 3_600)}


def test_nothing_is_kept_of_jobs_whose_queue_leaves_no_record(app):
    app.queue("light", keep_completed=0)

    @app.task(queue="light")
    async def ping() -> None: ...

    with pytest.raises(InvalidOption, match="queue 'light' keeps no completed jobs"):
        app.schedule("nightly", ping, every=5, keep_completed=3)
    app.schedule("nightly", ping, every=5, keep_failed=3)


# -- as it is stored ------------------------------------------------------------------------------------


def test_what_is_stored_comes_back_as_it_was(app):
    app.schedule("up", app.tasks["build"], every=5)
    spec = declared(
        app,
        app.tasks["build"].using(key="k", delay=3).call(day="ä"),
        cron="15 4 * * *",
        tz="America/Sao_Paulo",
        start=NOON,
        end=NOON + timedelta(days=900),
        overlap="queue",
        missed="all",
        after=["up"],
        deadline=timedelta(hours=2),
        on_deadline="fail",
        keep_failed=3,
    )
    again = read_spec(spec.text())
    assert again.text() == spec.text()
    assert again.timing.next(NOON) == spec.timing.next(NOON)
    assert again.job == spec.job
    assert (again.after, again.deadline, again.on_deadline) == (("up",), 7_200, "fail")
    assert (again.overlap, again.missed, again.kept) == ("queue", "all", (100, 3, 3_600))


def test_a_key_that_is_held_as_long_as_its_record_differs_from_tick_to_tick(app):
    spec = declared(app, app.tasks["build"].using(key="k").call(), every=5)
    keys = {spec.job_at("nightly", NOON + timedelta(seconds=5 * n), Ties()).key for n in range(3)}
    assert len(keys) == 3
    assert all(key.startswith("k@") for key in keys)


def test_a_key_with_another_window_is_every_ticks(app):
    made = declared(app, app.tasks["build"].using(key="k").call(), every=5)
    waiting = made.job._replace(window=Window("unfinished"))
    spec = Spec(timing=made.timing, job=waiting)
    assert {spec.job_at("nightly", NOON + timedelta(seconds=n), Ties()).key for n in (5, 10)} == {"k"}


def test_a_key_leaves_room_for_the_tick(app):
    with pytest.raises(InvalidOption, match="220 characters"):
        app.schedule("nightly", app.tasks["build"].using(key="k" * 221).call(), every=5)


def test_a_ticks_job_tells_where_it_comes_from_and_lies_on_the_schedules_shelf(app):
    spec = declared(app, app.tasks["build"], every=5, keep_completed=1)
    job = spec.job_at("nightly", NOON, Ties())
    assert isinstance(job, NewJob)
    assert job.key == job.id
    assert job.ties == Ties(shelf="@nightly", origin="schedule nightly, tick of 2026-01-05 12:00:00 UTC")


# -- whose they are -------------------------------------------------------------------------------------


def test_an_app_is_called_by_its_module_and_variable(monkeypatch):
    module = ModuleType("some_shop")
    monkeypatch.setitem(sys.modules, "some_shop", module)
    exec("from penstock import Penstock\napp = Penstock('sqlite://:memory:')", vars(module))
    assert module.app.name == "some_shop:app"
    exec("def make(): return Penstock('sqlite://:memory:')", vars(module))
    assert module.make().name == "some_shop"
    assert Penstock("sqlite://:memory:", name="shop").name == "shop"


def test_a_module_that_is_run_is_called_as_if_it_were_imported(monkeypatch):
    module = ModuleType("__main__")
    module.__file__ = "/somewhere/shop.py"
    module.app = app = object()
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert name_of(app, "__main__") == "shop:app"


# -- at run time ----------------------------------------------------------------------------------------


async def rows(app: Penstock) -> dict:
    return {row.id: row for row in await app.engine.schedules()}


async def test_a_schedule_can_be_put_in_and_changed_at_run_time(app):
    async with sandbox(app, FakeClock(NOON)) as box:
        for _ in range(2):
            await app.aupsert_schedule("hourly", app.tasks["build"], every=3_600)
        found = await rows(app)
        assert (found["hourly"].source, found["hourly"].next_at) == (None, NOON + timedelta(hours=1))
        box.advance(minutes=10)
        await app.aupsert_schedule("hourly", app.tasks["build"], every=900)
        assert (await rows(app))["hourly"].next_at == NOON + timedelta(minutes=15)
        assert await app.aremove_schedule("hourly")
        assert not await app.aremove_schedule("hourly")
        assert await rows(app) == {}


def test_programs_without_a_loop_can_do_it_too(app):
    with sandbox(app) as box:
        app.upsert_schedule("hourly", app.tasks["build"], every=3_600, args={"day": "x"})
        box.advance(hours=1)
        assert box.drain() == 1
        box.assert_enqueued(app.tasks["build"], day="x", times=1)
        assert app.remove_schedule("hourly")


async def test_inside_a_loop_the_twin_is_named(app):
    async with sandbox(app):
        with pytest.raises(CalledInLoop, match="aupsert_schedule"):
            app.upsert_schedule("hourly", app.tasks["build"], every=3_600)
        with pytest.raises(CalledInLoop, match="aremove_schedule"):
            app.remove_schedule("hourly")


async def test_a_declared_schedule_is_not_changed_at_run_time(app):
    app.schedule("nightly", app.tasks["build"], every=5)
    async with sandbox(app):
        with pytest.raises(ActionRefused, match="declared in code"):
            await app.aupsert_schedule("nightly", app.tasks["build"], every=6)
        with pytest.raises(ActionRefused, match="declared in code"):
            await app.aremove_schedule("nightly")


async def test_schedules_at_run_time_come_after_what_is_there_and_not_after_themselves(app):
    build = app.tasks["build"]
    async with sandbox(app):
        with pytest.raises(InvalidOption, match="comes after 'a', which is not there"):
            await app.aupsert_schedule("b", build, every=5, after=["a"])
        await app.aupsert_schedule("a", build, every=5)
        await app.aupsert_schedule("b", build, every=5, after=["a"])
        with pytest.raises(InvalidOption, match="'a' would come after itself"):
            await app.aupsert_schedule("a", build, every=5, after=["b"])


# -- sync -----------------------------------------------------------------------------------------------


def shop(name: str, **schedules) -> Penstock:
    app = Penstock("sqlite://:memory:", name=name)

    @app.task
    async def work() -> None: ...

    for schedule, options in schedules.items():
        app.schedule(schedule, work, **options)
    return app


async def test_what_is_declared_no_more_is_removed_and_nothing_of_others(app):
    first = shop("one", a={"every": 3_600}, b={"every": 3_600})
    async with sandbox(first, FakeClock(NOON)):
        engine = first.engine
        await announce(engine, shop("two", c={"every": 60}).registry)
        await first.aupsert_schedule("d", first.tasks["work"], every=60)
        assert sorted(await rows(first)) == ["a", "b", "c", "d"]
        await announce(engine, shop("one", b={"every": 3_600}).registry)
        assert sorted(await rows(first)) == ["b", "c", "d"]
        await announce(engine, shop("two").registry)
        assert sorted(await rows(first)) == ["b", "d"]


async def test_a_deploy_neither_loses_nor_doubles_a_tick():
    before = shop("one", a={"every": 3_600})
    async with sandbox(before, FakeClock(NOON)) as box:
        engine = before.engine
        box.advance(hours=1, seconds=1)  # due, and not fired yet
        after = shop("one", a={"every": 7_200})
        await announce(engine, after.registry)
        assert (await rows(before))["a"].next_at == NOON + timedelta(hours=1)
        assert await box.adrain() == 1
        for _ in range(3):
            await announce(engine, after.registry)
            assert await box.adrain() == 0
        assert (await rows(before))["a"].last_due == NOON + timedelta(hours=1)


async def test_a_change_after_the_clock_went_back_does_not_fire_a_tick_again():
    before = shop("one", a={"every": 3_600})
    async with sandbox(before, FakeClock(NOON)) as box:
        box.advance(hours=1)
        assert await box.adrain() == 1
        box.clock._now = NOON + timedelta(minutes=1)
        await announce(before.engine, shop("one", a={"every": 1_800}).registry)
        assert (await rows(before))["a"].next_at == NOON + timedelta(hours=1, minutes=30)


async def test_what_schedules_keep_is_read_from_what_is_stored():
    one = shop("one", a={"every": 60, "keep_completed": 1, "keep_failed": 2}, b={"every": 60})
    async with sandbox(one):
        found = list(retentions(await one.engine.schedules()))
    assert found == [Retention("@a", 1, 2, 86_400)]


async def test_a_schedule_that_keeps_nothing_apart_any_more_has_no_shelf(app):
    async with sandbox(app):
        build = app.tasks["build"]
        await app.aupsert_schedule("kept", build, every=60, keep_completed=3)
        await app.aupsert_schedule("dropped", build, every=60, keep_completed=3)
        await app.aupsert_schedule("dropped", build, every=60)
        assert unshelved(await app.engine.schedules()) == ["dropped"]
