"""The command line: what every command says, to people and to programs, and how it exits."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from acceptance import jobs
from acceptance.conftest import ENGINES
from acceptance.fleet import EFFECTS, JOBS, START_SECONDS, Site, eventually, new_url
from penstock.cli.main import main
from penstock.model.clock import EngineClock

UNKNOWN = "01890000-0000-7000-8000-000000000000"


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Shell:
    """`penstock …` inside this process: the same entry point, without the wait for a new interpreter."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> Said:
        self._monkeypatch.setattr("sys.argv", ["penstock", *words])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        said = Said(int(ended.value.code or 0), out, err)
        assert said.code == code, said
        assert "Traceback" not in err
        return said


@pytest.fixture(params=ENGINES)
def shell(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Shell]:
    """A command line on a fresh database."""
    monkeypatch.setenv("PENSTOCK_APP", "acceptance.jobs:app")
    monkeypatch.setenv(EFFECTS, str(tmp_path / "effects.jsonl"))
    before = jobs.app.move_to(new_url(request.param, tmp_path), EngineClock())
    asyncio.run(jobs.app.migrate())
    yield Shell(monkeypatch, capsys)
    jobs.app.close()
    jobs.app.move_to(*before)


def work() -> None:
    """Run what is waiting."""

    async def burst() -> None:
        async with jobs.app:
            await jobs.app.worker().run(burst=True)

    asyncio.run(burst())


def enqueue(*calls: Any) -> list[str]:
    with jobs.app:
        return [job.id for job in jobs.app.enqueue_many(calls)]


def test_jobs_lists_what_is_there_newest_first(shell: Shell) -> None:
    assert "No jobs" in shell("jobs").out
    first, second = enqueue(jobs.add.call(a=1, b=2), jobs.add.call(a=3, b=4))
    assert [job["id"] for job in shell("jobs", "--json").data] == [second, first]
    assert [job["id"] for job in shell("jobs", "--json", "--limit", "1").data] == [second]
    assert [job["id"] for job in shell("jobs", "--json", "--after", second).data] == [first]
    assert shell("jobs", "--json", "--state", "failed").data == []
    assert "add" in shell("jobs", "--task", "add").out


def test_job_shows_everything_known(shell: Shell) -> None:
    (job_id,) = enqueue(jobs.add.call(a=1, b=2))
    work()
    data = shell("job", job_id, "--json").data
    expected = {"id": job_id, "state": "completed", "status": "completed", "task": "add", "queue": "default"}
    assert expected.items() <= data.items()
    assert (data["args"], data["result"], data["attempt"]) == ({"a": 1, "b": 2}, 3, 1)
    assert job_id in shell("job", job_id).out
    assert "no record" in shell("job", UNKNOWN, code=1).err


def test_queues_counts_each_state_and_pause_and_resume_show_there(shell: Shell) -> None:
    enqueue(jobs.add.call(a=1, b=2), jobs.after_it.call())
    shell("pause", "alone")
    rows = {row["queue"]: row for row in shell("queues", "--json").data}
    assert (rows["default"]["waiting"], rows["default"]["paused"], rows["default"]["declared"]) == (
        1,
        False,
        True,
    )
    assert rows["alone"]["paused"]
    assert "paused" in shell("queues").out
    shell("resume", "alone")
    assert not any(row["paused"] for row in shell("queues", "--json").data)
    assert "nowhere" in shell("pause", "nowhere", code=2).err


def test_workers_says_how_to_start_one(shell: Shell) -> None:
    assert "penstock worker" in shell("workers").out
    assert shell("workers", "--json").data == []


def test_tasks_prints_the_catalogue_three_ways(shell: Shell) -> None:
    names = {row["name"] for row in shell("tasks", "--json").data}
    assert {"add", "in_process", "kept_aside"} <= names
    assert "| add" in shell("tasks", "--markdown").out.replace("`", "")
    assert "in_process" in shell("tasks").out


def test_cancel_cancels_once(shell: Shell) -> None:
    (job_id,) = enqueue(jobs.add.call(a=1, b=2))
    assert shell("cancel", job_id, "--json").data == {"job_id": job_id, "state": "cancelled"}
    assert "already ended as cancelled" in shell("cancel", job_id, code=1).err
    assert "no record" in shell("cancel", UNKNOWN, code=1).err


def test_retry_makes_a_delayed_job_due_and_a_failed_one_new(shell: Shell) -> None:
    delayed, waiting, failed = enqueue(
        jobs.add.using(delay=600).call(a=1, b=2),
        jobs.after_it.call(),
        jobs.says.call(how="unrecoverable"),
    )
    assert shell("retry", delayed, "--json").data == {"job_id": delayed, "how": "due now"}
    assert "waiting already" in shell("retry", waiting, code=1).err
    work()
    again = shell("retry", failed, "--json").data
    assert again["how"] == "recovered"
    assert shell("job", again["job_id"], "--json").data["recovered_from"] == failed


def test_dlq_lists_shows_and_recovers(shell: Shell) -> None:
    assert "No dead letters" in shell("dlq").out
    ids = enqueue(*(jobs.says.call(how="unrecoverable") for _ in range(3)))
    work()
    letters = shell("dlq", "list", "--json").data
    assert {letter["job"]["id"] for letter in letters} == set(ids)
    assert {letter["failure"]["reason"] for letter in letters} == {"unrecoverable"}
    assert "no such order" in shell("dlq", "show", ids[0]).out
    assert shell("dlq", "show", ids[0], "--json").data["job"]["args"] == {"how": "unrecoverable"}
    once = shell("dlq", "recover", ids[0], "--json").data
    again = shell("dlq", "recover", ids[0], "--json").data
    assert again == {**once, "already": True}, "twice makes one job"
    assert once["already"] is False
    assert once["recovered_from"] == ids[0]
    rest = shell("dlq", "recover-all", "--task", "says", "--yes", "--json").data
    assert rest["recovered"] == 2
    assert "No dead letters" in shell("dlq", "list").out
    assert "penstock dlq" in shell("dlq", "show", UNKNOWN, code=1).err


def test_dlq_recover_refuses_arguments_that_do_not_fit(shell: Shell) -> None:
    (job_id,) = enqueue(jobs.says.call(how="unrecoverable"))
    work()
    assert "JSON" in shell("dlq", "recover", job_id, "--args", "{", code=2).err
    assert "how" in shell("dlq", "recover", job_id, "--args", '{"how": 3}', code=2).err
    new = shell("dlq", "recover", job_id, "--args", '{"how": "no-op"}', "--json").data["job_id"]
    assert shell("job", new, "--json").data["args"] == {"how": "no-op"}


def test_migrate_says_when_there_is_nothing_to_do(shell: Shell) -> None:
    assert shell("migrate", "--json").data == {"applied": []}
    assert "Up to date" in shell("migrate").out


def test_a_wrong_option_is_a_usage_error(shell: Shell) -> None:
    assert "--limit" in shell("jobs", "--limit", "0", code=2).err
    assert "30s" in shell("jobs", "--since", "soon", code=2).err


# -- the commands that go on until they are told to stop ------------------------------------------------
def test_dev_works_with_its_dashboard_through_a_change_and_ends_on_sigterm(tmp_path: Path) -> None:
    site = Site(tmp_path, new_url("sqlite", tmp_path))
    command = [sys.executable, "-m", "penstock", "dev", JOBS]
    process = subprocess.Popen(command, cwd=tmp_path, env=site.env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert "Reloads on change" in process.stdout.readline()
        link = next(line for line in process.stdout if line.startswith("Dashboard: "))
        url, _, code = link.removeprefix("Dashboard: ").strip().partition("/dashboard/#enter=")
        with httpx.Client(base_url=url, timeout=START_SECONDS) as browser:
            assert httpx.get(f"{url}/queues", timeout=START_SECONDS).status_code == 401
            assert browser.post("/session", json={"token": code}).json()["name"].startswith("local:")
            eventually(lambda: len(browser.get("/workers").json()["workers"]) == 1, START_SECONDS, "a worker")
            (before,) = browser.get("/workers").json()["workers"]
            (tmp_path / "other.py").write_text("changed = True")
            eventually(
                lambda: before["id"] not in {w["id"] for w in browser.get("/workers").json()["workers"]},
                START_SECONDS,
                "another worker",
            )
            assert browser.get("/session").status_code == 200, "signed in still"
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def test_demo_shows_everything_within_30_seconds_and_exits_with_0(tmp_path: Path) -> None:
    began = time.monotonic()
    done = Site(tmp_path, new_url("sqlite", tmp_path)).run("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 30
    for told in (
        "Dashboard: http://127.0.0.1:",
        "8 dead letters are recovered",
        "crash-loop",
        "breaker closes",
    ):
        assert told in done.stdout
    assert "jobs completed in" in done.stdout
    assert list(tmp_path.glob("**/demo.db*")) == []


def test_demo_ends_in_time_where_its_story_does_not(tmp_path: Path) -> None:
    impatient = "import sys; from penstock.cli import demo; demo.PATIENCE = 10.0; sys.exit(demo.run())"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", impatient],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert time.monotonic() - began < 10
    assert done.returncode == 1
    assert "was not told to its end" in done.stderr
    assert "jobs completed in" in done.stdout
