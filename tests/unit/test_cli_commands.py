"""The command line on an SQLite file: what people read, and what programs read."""

from __future__ import annotations

import asyncio
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner, work_off  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.cli import work


# -- empty ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("jobs",), "penstock tasks"),
        (("jobs", "-q", "email"), "All of them: penstock jobs"),
        (("dlq",), "No dead letters"),
        (("dlq", "list", "--failed-as", "exhausted"), "All of them: penstock dlq --recovered"),
        (("dlq", "--recovered"), "recovered or not"),
        (("workers",), "Start one with: penstock worker\n"),
        (("workers", "--app", "cli_shop:app"), "Start one with: penstock worker --app cli_shop:app\n"),
        (("queues",), "default"),
        (("migrate",), "Up to date."),
        (("dlq", "recover-all", "-t", "fail"), "No dead letters"),
    ],
)
def test_an_empty_state_teaches_the_next_command(run: Run, words: tuple[str, ...], told: str) -> None:
    run("jobs")
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    assert told in said.out


@pytest.mark.parametrize(
    "words",
    [("jobs",), ("dlq",), ("dlq", "list"), ("workers",), ("queues",), ("tasks",), ("migrate",)],
)
def test_json_is_one_document_and_nothing_else(run: Run, words: tuple[str, ...]) -> None:
    said = run(*words, "--json")
    assert isinstance(said.json, list | dict)
    assert said.err == ""


# -- tables -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
def test_ids_are_never_wrapped_and_no_line_is_too_long(run: Run, dead: str, columns: int) -> None:
    for words in (("jobs",), ("dlq",)):
        said = run(*words, columns=columns)
        assert dead in said.out
        assert max(map(len, said.out.splitlines())) <= max(columns, 60)


def test_what_users_store_is_never_read_as_formatting(run: Run, dead: str) -> None:
    for words in (("jobs",), ("job", dead), ("dlq",), ("dlq", "show", dead)):
        assert "[bold]luck[/bold] :smile:" in run(*words).out
    assert ":warning: [red]now[/red]" in run("tasks").out
    assert ":warning:" in run("tasks", "--markdown").out


def test_a_full_page_says_how_to_go_on(run: Run, shop: Penstock) -> None:
    with shop:
        ids = [shop.tasks["send_receipt"].enqueue(order_id=n).id for n in range(3)]
    said = run("jobs", "-n", "2")
    assert f"--after {ids[1]}" in said.out
    rest = run("jobs", "--after", ids[1], "--json").json
    assert [job["id"] for job in rest] == [ids[0]]


def test_a_queue_shows_whether_it_is_paused(run: Run) -> None:
    assert "penstock resume email" in run("pause", "email").out
    assert "paused" in run("queues").out
    assert run("queues", "--json").json[1] == {
        "queue": "email", "declared": True, "paused": True, "parked": 0, "waiting": 0, "delayed": 0,
        "blocked": 0, "active": 0, "completed": 0, "failed": 0, "cancelled": 0,
    }  # fmt: skip
    run("resume", "email")
    assert "paused" not in run("queues").out


# -- one job ----------------------------------------------------------------------------------------
def test_a_job_is_shown_whole_with_the_next_step(run: Run, dead: str) -> None:
    said = run("job", dead)
    assert re.search(r"attempt 1, 20\d\d-\S+ \S+ UTC \(\d+s ago\): Unrecoverable: no", said.out)
    assert f"penstock retry {dead}" in said.out
    assert run("job", dead, "--json").json["state"] == "failed"
    shown = run("dlq", "show", dead)
    assert f"penstock dlq recover {dead}" in shown.out
    assert run("dlq", "show", dead, "--json").json["failure"]["reason"] == "unrecoverable"


def test_retry_and_recover_name_the_same_new_job(run: Run, dead: str) -> None:
    new = run("retry", dead, "--json").json["job_id"]
    assert new in run("retry", dead).out
    assert run("dlq", "recover", dead, "--json").json == {
        "job_id": new, "recovered_from": dead, "already": True,
    }  # fmt: skip
    assert run("dlq", "recover", dead).out == f"It has been recovered already, as {new}\n"
    assert new in run("dlq", "show", dead).out
    recovered = run("dlq", "--recovered").out
    assert f"{dead}  fail  unrecoverable (recovered)" in recovered
    assert "dlq recover" not in recovered
    assert dead not in run("dlq").out


def test_a_delayed_job_is_made_due_and_cancelled(run: Run, shop: Penstock) -> None:
    with shop:
        job = shop.tasks["send_receipt"].using(delay=3600).enqueue(order_id=1)
    assert "penstock retry" in run("job", job.id).out
    assert run("retry", job.id).out == "Due now.\n"
    assert run("cancel", job.id, "--reason", "no need").out == "Cancelled.\n"
    said = run("cancel", job.id)
    assert (said.code, said.out) == (1, "")
    assert "already ended as cancelled" in said.err


def test_an_edited_payload_is_checked(run: Run, dead: str) -> None:
    for args, told in [("{", "not JSON"), ("[1]", "JSON object"), ('{"what": 1}', "what")]:
        said = run("dlq", "recover", dead, "--args", args)
        assert said.code == 2
        assert told in said.err
    assert run("dlq", "recover", dead, "--args", '{"what": "x"}').code == 0
    new = run("job", dead, "--json").json["recovered_as"]
    said = run("dlq", "recover", dead, "--args", '{"what": "y"}')
    assert (said.code, said.out) == (1, "")
    assert f"recovered already, as job {new}" in said.err


# -- dead letters -----------------------------------------------------------------------------------
def test_dlq_alone_takes_the_options_of_its_list(run: Run, dead: str) -> None:
    for words in ((), ("list",)):
        found = run("dlq", *words, "--task", "fail", "--queue", "default", "--since", "1h", "--json").json
        assert [letter["job"]["id"] for letter in found] == [dead]
        assert run("dlq", *words, "--task", "other", "--json").json == []


def test_an_option_before_the_command_of_dlq_is_refused_and_not_ignored(run: Run, dead: str) -> None:
    said = run("dlq", "--task", "other", "recover-all", "--yes")
    assert said.code == 2
    assert "options go after the command" in said.err
    assert run("job", dead, "--json").json["recovered_as"] is None


def test_recovering_everything_asks_first(run: Run, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert run("dlq", "recover-all").code == 1
    said = run("dlq", "recover-all", "--yes", "--rate", "5", "--json")
    assert said.json["recovered"] == 1
    assert said.err == ""


def test_how_many_come_back_and_how_fast_is_said(run: Run, shop: Penstock, dead: str) -> None:
    assert run("dlq", "recover-all", "-t", "fail", "--rate", "5").out == "Recovered 1 job, due now.\n"
    with shop:
        shop.enqueue_many(shop.tasks["fail"].call(what=f"{n}") for n in range(2))
    work_off(shop)
    said = run("dlq", "recover-all", "-t", "fail", "--rate", "5")
    assert said.out == "Recovered 3 jobs, due at 5 per second.\n"


# -- workers ----------------------------------------------------------------------------------------
def test_the_worker_takes_its_processes_from_the_command_or_the_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    async def supervise(options: Any, beside: Any) -> int:
        others = list(beside(SimpleNamespace(restart=None)))
        for other in others:
            other.close()
        seen.append((options.processes, options.wishes, [other.__qualname__ for other in others]))
        return 0

    monkeypatch.setattr(work, "_supervise", supervise)
    run("worker", "-p", "2", "-c", "7", "-q", "email")
    monkeypatch.setenv("PENSTOCK_PROCESSES", "3")
    run("worker")
    run("dev", "--port", "0")
    assert seen == [
        (2, {"queues": ["email"], "slots": 7, "tables": True}, []),
        (3, {"tables": True}, []),
        (1, {"grace": 5.0, "tables": True}, ["Reloader.run", "ServiceProcess.run"]),
    ]


def test_a_worker_that_cannot_start_says_why_once_and_exits_1(run: Run) -> None:
    said = run("worker", "--app", "nosuch:app")
    assert said.code == 1
    assert said.err.count("no module 'nosuch'") == 1


def test_running_and_parked_jobs_and_workers_are_shown_as_they_are(run: Run, shop: Penstock) -> None:
    from penstock.engine import Settlement, Want, WorkerInfo
    from penstock.model.job import NewJob
    from penstock.model.outcome import Park, Released
    from penstock.tasks.ids import new_id

    async def prepare() -> tuple[str, str]:
        async with shop:
            engine = shop.engine
            await engine.register(WorkerInfo(id="w1", name="host:1", queues=("default", "x"), slots=2), 600.0)
            lost = NewJob(new_id(), "elsewhere", "unknown")
            held = NewJob(new_id(), "default", "fail", '{"what":"x"}')
            await engine.enqueue([lost, held])
            want = Want("w1", "r", {"default": 1, "elsewhere": 1}, 2, shop.registry.fingerprints(), 2)
            for claim in (await engine.claim(want)).claims:
                if claim.id == held.id:
                    await engine.progress(claim.id, claim.token, '{"percent": 40, "message": "half"}')
                else:
                    parked = Released("nobody knows it", park=Park("unknown", "nobody knows it"))
                    await engine.settle([Settlement(claim.id, claim.token, parked)])
            return held.id, lost.id

    held, lost = asyncio.run(prepare())
    assert "40 % half" in run("jobs", "--state", "active").out
    assert [job["id"] for job in run("jobs", "--parked", "--json").json] == [lost]
    assert "penstock why" in run("job", lost).out
    assert "1 parked, not declared" in run("queues").out
    workers = run("workers")
    assert "host:1" in workers.out
    assert "1/2" in workers.out
    assert run("workers", "--json").json[0]["name"] == "host:1"
    assert "claims nothing more" in run("workers", "quiet", "host:1", "--reason", "a look at it").out
    assert "quiet" in run("workers").out
    assert "claims again" in run("workers", "resume", "w1").out
    assert "ends when what it runs has" in run("workers", "stop", "w1").out
    refused = run("workers", "resume", "w1")
    assert (refused.code, "was told to stop" in refused.err) == (1, True)
    assert "there is no worker 'w2'" in run("workers", "stop", "w2").err
    assert [e["why"] for e in run("audit", "--json").json if e["action"] == "worker quiet"] == [
        "a look at it"
    ]
    assert "asked to stop it" in run("cancel", held).out
    assert run("cancel", held, "--json").json["state"] == "active"


# -- help -------------------------------------------------------------------------------------------
def test_help_is_grouped_and_tells_each_command_in_one_line(run: Run) -> None:
    said = run("--help", columns=80)
    assert all(word in said.out for word in ("Run", "Look", "Act", "worker", "dlq"))
    assert [line for line in said.out.splitlines() if line.startswith("│  ")] == []


@pytest.mark.parametrize("words", [("job",), ("dlq", "show")])
def test_an_error_is_shown_with_what_lies_behind_it(run: Run, dead: str, words: tuple[str, ...]) -> None:
    assert "caused by KeyError: 'the shelf is empty'" in run(*words, dead).out


def test_without_a_ledger_there_is_nothing_to_reconcile(run: Run) -> None:
    said = run("reconcile")
    assert said.code == 1
    assert "there is no ledger: it goes with Redis" in said.err
