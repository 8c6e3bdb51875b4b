"""The command line on an SQLite file: what people read, what programs read, and the exit codes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock import Penstock, UnknownQueue
from penstock.cli import main, work
from penstock.model.errors import EngineUnavailable
from penstock.ops import Ops

APP = '''
from penstock import Penstock, Unrecoverable

app = Penstock("sqlite:///{file}")
app.queue("email", retry="webhook")

@app.task(queue="email", key="receipt:{{order_id}}")
async def send_receipt(order_id: int) -> str:
    """Send a receipt :warning: [red]now[/red]."""
    return "sent"

@app.task
async def fail(what: str) -> None:
    raise Unrecoverable(f"no {{what}}")
'''


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Said]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run one command in the folder of the shop, 100 columns wide."""
    (tmp_path / "cli_shop.py").write_text(APP.format(file=tmp_path / "jobs.db"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PENSTOCK_APP", "cli_shop:app")
    monkeypatch.setenv("COLUMNS", "100")

    def command(*words: str, columns: int = 100) -> Said:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["penstock", *words])
        capsys.readouterr()
        code = 0
        try:
            main.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Said(code, out, err)

    yield command
    sys.modules.pop("cli_shop", None)


@pytest.fixture
def shop(run: Run) -> Penstock:
    from penstock.tasks.loading import load_app

    app: Penstock = load_app("cli_shop:app")
    return app


def work_off(app: Penstock) -> None:
    async def burst() -> None:
        async with app:
            await app.worker().run(burst=True)

    asyncio.run(burst())


@pytest.fixture
def dead(shop: Penstock) -> str:
    with shop:
        job = shop.tasks["fail"].enqueue(what="[bold]luck[/bold] :smile:")
    work_off(shop)
    return job.id


# -- empty ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("jobs",), "penstock tasks"),
        (("jobs", "-q", "email"), "without options"),
        (("dlq",), "No dead letters"),
        (("dlq", "list", "--reason", "exhausted"), "without options"),
        (("workers",), "penstock worker --app"),
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
        "queue": "email", "declared": True, "paused": True, "waiting": 0, "delayed": 0, "blocked": 0,
        "active": 0, "completed": 0, "failed": 0, "cancelled": 0,
    }  # fmt: skip
    run("resume", "email")
    assert "paused" not in run("queues").out


# -- one job ----------------------------------------------------------------------------------------
def test_a_job_is_shown_whole_with_the_next_step(run: Run, dead: str) -> None:
    said = run("job", dead)
    assert "attempt 1: Unrecoverable: no" in said.out
    assert f"penstock retry {dead}" in said.out
    assert run("job", dead, "--json").json["state"] == "failed"
    shown = run("dlq", "show", dead)
    assert f"penstock dlq recover {dead}" in shown.out
    assert run("dlq", "show", dead, "--json").json["failure"]["reason"] == "unrecoverable"


def test_retry_and_recover_name_the_same_new_job(run: Run, dead: str) -> None:
    new = run("retry", dead, "--json").json["job_id"]
    assert new in run("retry", dead).out
    assert run("dlq", "recover", dead, "--json").json == {"job_id": new, "recovered_from": dead}
    assert new in run("dlq", "recover", dead).out
    assert new in run("dlq", "show", dead).out
    assert dead in run("dlq", "--recovered").out
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


def test_how_many_come_back_and_how_fast_is_said(run: Run, dead: str) -> None:
    assert run("dlq", "recover-all", "-t", "fail", "--rate", "5").out == (
        "Recovered 1 jobs, due at 5 per second.\n"
    )


# -- wrong use --------------------------------------------------------------------------------------
NOBODY = "01a1e11d-b24c-7000-8000-0c030ea86a1f"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("job", "x"), 1, "no record of job 'x'"),
        (("retry", NOBODY), 1, "no record of job"),
        (("cancel", NOBODY), 1, "no record of job"),
        (("dlq", "show", "x"), 1, "`penstock dlq` lists them"),
        (("dlq", "recover", NOBODY), 1, "no dead letter"),
        (("pause", "nope"), 2, "there are: default, email"),
        (("jobs", "--since", "5x"), 2, "write 30s, 15m, 2h or 7d"),
        (("jobs", "--since", ""), 2, "write 30s, 15m, 2h or 7d"),
        (("jobs", "--after", "x"), 2, "last id of the page before"),
        (("jobs", "--limit", "0"), 2, "--limit"),
        (("jobs", "--state", "odd"), 2, "waiting"),
        (("nosuch",), 2, "nosuch"),
        (("jobs", "--app", "nosuch:app"), 2, "no module 'nosuch'"),
        (("jobs", "--app", "nosuch.py:app"), 2, "no Python file"),
        (("jobs", "--app", "cli_shop:other"), 2, "has no 'other'"),
        (("jobs", "--app", "json:loads"), 2, "not a Penstock app"),
        (("worker", "--log-level", "loud"), 2, "debug, info, warning or error"),
        (("dlq", "recover-all", "-t", "x", "--rate", "0"), 2, "rate"),
        (("dev", "nosuch:app"), 2, "no module 'nosuch'"),
    ],
)
def test_wrong_use_is_one_sentence_on_standard_error(
    run: Run, words: tuple[str, ...], code: int, told: str
) -> None:
    said = run(*words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err


def test_without_an_app_it_says_the_three_ways_to_name_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_APP")
    said = run("jobs")
    assert said.code == 2
    assert all(word in said.err for word in ("--app", "PENSTOCK_APP", "pyproject.toml"))


def test_an_app_that_raises_when_loaded_is_told_with_its_line(run: Run) -> None:
    Path("broken.py").write_text("x = 1\n1 / 0\n")
    said = run("jobs", "--app", "broken.py:app")
    assert said.code == 2
    assert "ZeroDivisionError: division by zero" in said.err
    assert "line 2" in said.err


def test_an_engine_that_is_away_has_a_code_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise EngineUnavailable("cannot connect to [db]")

    monkeypatch.setattr(Ops, "queues", away)
    said = run("queues")
    assert said.code == 3
    assert said.err == "error EngineUnavailable: cannot connect to [db]\n"


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("a bug"), 70), (UnknownQueue("x"), 2)]
)
def test_whatever_is_raised_there_is_no_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    async def broken(*_: object) -> None:
        raise raised

    monkeypatch.setattr(Ops, "workers", broken)
    assert run("workers").code == code


def test_help_is_grouped_and_fits_a_screen(run: Run) -> None:
    said = run("--help", columns=80)
    assert all(word in said.out for word in ("Run", "Look", "Act", "worker", "dlq"))
    assert len(said.out.splitlines()) <= 35


# -- workers ----------------------------------------------------------------------------------------
def test_the_worker_takes_its_processes_from_the_command_or_the_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    async def supervise(options: Any, *, reload: bool) -> int:
        seen.append((options.processes, options.wishes, reload))
        return 0

    monkeypatch.setattr(work, "_supervise", supervise)
    run("worker", "-p", "2", "-c", "7", "-q", "email")
    monkeypatch.setenv("PENSTOCK_PROCESSES", "3")
    run("worker")
    run("dev")
    assert seen == [
        (2, {"queues": ["email"], "slots": 7}, False),
        (3, {}, False),
        (1, {"grace": 5.0}, True),
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
            want = Want("w1", "r", {"default": 1, "elsewhere": 1}, 2, shop.registry.fingerprints())
            for claim in await engine.claim(want):
                if claim.id == held.id:
                    await engine.progress(claim.id, claim.token, '{"percent": 40, "message": "half"}')
                else:
                    parked = Released("nobody knows it", park=Park("unknown", "nobody knows it"))
                    await engine.settle([Settlement(claim.id, claim.token, parked)])
            return held.id, lost.id

    held, lost = asyncio.run(prepare())
    assert "40 % half" in run("jobs", "--state", "active").out
    assert [job["id"] for job in run("jobs", "--parked", "--json").json] == [lost]
    assert "parked until a worker comes" in run("job", lost).out
    assert "not declared here" in run("queues").out
    workers = run("workers")
    assert "host:1" in workers.out
    assert "1/2" in workers.out
    assert run("workers", "--json").json[0]["name"] == "host:1"
    assert "asked to stop it" in run("cancel", held).out
    assert run("cancel", held, "--json").json["state"] == "active"
