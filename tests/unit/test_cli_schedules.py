"""penstock schedules: what people see of schedules, and do with them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from cli_kit import Run, runner  # noqa: F401 - a fixture

from penstock import Penstock
from penstock.engine import ScheduleRow, Tick
from penstock.model.job import Edge, NewJob, Ties
from penstock.runtime.announce import announce
from penstock.tasks.ids import new_id
from penstock.tasks.loading import load_app

SCHEDULES = """
app.schedule("aggregate", send_receipt, every=2700, args={"order_id": 7}, keep_completed=3)
app.schedule(
    "graph-build", fail, cron="15 4 * * *", tz="America/Sao_Paulo", args={"what": "x"},
    after=["aggregate"], deadline=7200, on_deadline="run",
)
"""


@pytest.fixture(name="shop")
def shop_with_schedules(run: Run, tmp_path) -> Penstock:
    file = tmp_path / "cli_shop.py"
    file.write_text(file.read_text() + SCHEDULES)
    app: Penstock = load_app("cli_shop:app")
    return app


@pytest.fixture(name="synced")
def synced_shop(shop: Penstock) -> Penstock:
    with shop:
        shop.run_on_engine(lambda engine: announce(engine, shop.registry), "")
    return shop


def test_what_is_declared_is_shown_before_any_worker_has_started(run, shop):
    said = run("schedules")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].split() == ["schedule", "task", "when", "next", "last"]
    assert "aggregate    send_receipt  every 45 min" in lines[1]
    assert "graph-build  fail" in lines[2]
    assert "15 4 * * * America/Sao_Paulo" in lines[2]
    assert "comes with the first worker" in said.out


def test_the_list_of_tasks_tells_what_makes_their_jobs(run, shop):
    shop.task(on="order.paid", name="thank")(lambda: None)
    said = run("tasks", columns=200).out
    header, *lines = said.splitlines()
    at = header.index("schedule or event")
    told = {line.split()[0]: line[at:].rstrip() for line in lines}
    assert told["fail"] == "graph-build: 15 4 * * * America/Sao_Paulo"
    assert told["send_receipt"].startswith("aggregate: every 45 min  ")
    assert told["thank"] == "on order.paid"
    assert "graph-build: 15 4 * * * America/Sao_Paulo" in run("tasks", columns=60).out
    assert "| graph-build: 15 4 * * * America/Sao_Paulo |" in run("tasks", "--markdown").out


def test_no_schedules_are_told_with_the_way_to_one(run):
    assert "Declare one with app.schedule" in run("schedules").out


def test_programs_read_them_as_json(run, synced):
    first, second = run("schedules", "--json").json
    assert (first["id"], first["task"], first["every"], first["source"]) == (
        "aggregate", "send_receipt", 2700.0, "cli_shop:app",
    )  # fmt: skip
    assert (second["cron"], second["tz"], second["after"]) == (
        "15 4 * * *", "America/Sao_Paulo", ["aggregate"],
    )  # fmt: skip
    assert datetime.fromisoformat(second["next_at"]) > datetime.now(UTC)


def test_one_is_shown_with_its_next_ten_runs_in_its_zone_and_in_utc(run, synced):
    said = run("schedules", "graph-build")
    assert said.code == 0
    assert "America/Sao_Paulo" in said.out
    assert said.out.count(" 04:15:00") == 10
    assert said.out.count(" 07:15:00 UTC") == 10
    assert "aggregate, for 7200 s, then run" in said.out
    assert "No ticks yet" in said.out
    assert run("schedules", "show", "graph-build").out == said.out


def test_one_as_json_has_its_runs_and_ticks(run, synced):
    told = run("schedules", "graph-build", "--json").json
    assert len(told["runs"]) == 10
    assert told["ticks"] == []
    assert told["runs"][0]["there"].endswith("04:15:00-03:00")


def test_its_latest_ticks_are_shown(run, synced):
    with synced:
        row = synced.run_on_engine(lambda engine: engine.schedules(), "")[0]
        tick = Tick(row.id, row.next_at, row.next_at + timedelta(hours=1), None, note="missed by a mile")
        synced.run_on_engine(lambda engine: engine.fire(tick), "")
    assert "missed by a mile" in run("schedules", "aggregate").out


def test_a_job_is_made_by_hand(run, synced):
    said = run("schedules", "fire", "graph-build")
    [job] = run("jobs", "--json").json
    assert job["id"] in said.out
    assert (job["task"], job["args"]) == ("fail", {"what": "x"})
    assert "schedule graph-build, fired by hand" in run("job", job["id"]).out
    assert run("schedules", "fire", "aggregate", "--json").json["job_id"]
    (fired,) = run("schedules", "graph-build", "--json").json["ticks"]
    assert (fired["job_id"], fired["note"]) == (job["id"], "fired by hand")


def test_a_schedule_is_paused_and_resumed(run, synced):
    assert "is paused" in run("schedules", "pause", "graph-build").out
    assert "paused" in run("schedules").out.splitlines()[2]
    assert run("schedules", "graph-build", "--json").json["runs"] == []
    assert "goes on at" in run("schedules", "resume", "graph-build").out
    assert "paused" not in run("schedules").out


def test_a_job_that_waits_for_another_schedules_run_says_so(run, synced):
    upstream = new_id()
    ties = Ties(after=(Edge(upstream, "wait"),), deadline=7_200, origin="schedule graph-build, tick of today")
    job = NewJob(new_id(), "default", "fail", ties=ties)
    with synced:
        synced.run_on_engine(lambda engine: engine.enqueue([job]), "")
    assert f"waits for {upstream}" in run("jobs", columns=200).out
    said = run("job", job.id).out
    assert f"waits for      {upstream}, until 20" in said
    assert "made by        schedule graph-build, tick of today" in said


@pytest.mark.parametrize("verb", ["show", "fire", "pause", "resume"])
def test_a_name_that_is_none_is_told_with_those_there_are(run, synced, verb):
    said = run("schedules", verb, "nobody")
    assert said.code == 1
    assert "no schedule 'nobody'; there are: aggregate, graph-build" in said.err


def test_what_no_worker_has_told_of_cannot_be_paused(run, shop):
    said = run("schedules", "pause", "aggregate")
    assert said.code == 1
    assert "comes with the first worker" in said.err


def test_one_that_cannot_be_read_is_shown_as_such(run, synced):
    with synced:
        synced.run_on_engine(
            lambda engine: engine.put_schedules([ScheduleRow(id="odd", spec=json.dumps({"v": 9}))]), ""
        )
    assert "cannot be read" in run("schedules").out
    assert "cannot be read" in run("schedules", "odd").out
    said = run("schedules", "fire", "odd")
    assert said.code == 1
    assert "declare it again" in said.err


async def test_clock_changes_are_marked(shop):
    build = shop.tasks["fail"]
    async with shop:
        for zone in ("Europe/Berlin", "UTC"):
            await shop.aupsert_schedule(
                zone.partition("/")[0],
                build,
                args={"what": "x"},
                cron="30 2 * * *",
                tz=zone,
                start=datetime(2030, 3, 28, tzinfo=UTC),
            )
        timetable = shop.ops.timetable
        berlin = (await timetable.schedule("Europe")).runs
        assert [(f"{run.there:%d %H:%M}", run.note) for run in berlin[2:5]] == [
            ("30 02:30", None),
            ("31 03:00", "clocks go forward 1 h before this run"),
            ("01 02:30", None),
        ]
        assert all(run.note is None for run in (await timetable.schedule("UTC")).runs)
