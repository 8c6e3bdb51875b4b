"""`penstock why`, `health` and `top`: what is shown, what programs get, and the exit codes."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner, work_off  # noqa: F401 - fixtures
from rich.console import Console

from penstock import Penstock
from penstock.cli import top
from penstock.engine import Sample, WorkerInfo


def hire(shop: Penstock, *queues: str, slots: int = 5, ttl: float = 600) -> None:
    async def register() -> None:
        async with shop:
            worker = WorkerInfo(id="w", name="host:1", queues=queues or ("default", "email"), slots=slots)
            await shop.engine.register(worker, ttl)

    asyncio.run(register())


def count(shop: Penstock, **measures: float) -> None:
    async def add() -> None:
        async with shop:
            await shop.engine.count([Sample("email", "send_receipt", measures)])

    asyncio.run(add())


@pytest.fixture(name="job")
def a_job(shop: Penstock) -> str:
    with shop:
        return shop.tasks["send_receipt"].enqueue(order_id=7).id


# -- why --------------------------------------------------------------------------------------------
def test_why_shows_each_cause_with_the_command_to_type(run: Run, shop: Penstock, job: str) -> None:
    run("pause", "email")
    said = run("why", job)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        "send_receipt  ◦ waiting  email",
        f"  {job}",
        "",
        "  1. paused",
        "     Queue 'email' is paused: nothing of it starts until it is resumed.",
        "     → penstock resume email",
        "",
        "  2. no-worker",
        "     No worker is running.",
        "     → penstock worker",
    ]
    named = run("why", job, "--app", "cli_shop:app").out
    assert "→ penstock resume email --app cli_shop:app" in named


def test_why_fits_into_a_narrow_terminal_and_tells_programs_plainly(run: Run, dead: str) -> None:
    said = run("why", dead, columns=60)
    assert all(len(line) <= 60 for line in said.out.splitlines())
    told = run("why", dead, "--json").json
    assert (told["state"], [cause["because"] for cause in told["causes"]]) == ("failed", ["failed"])
    assert told["causes"][0]["next"] == f"penstock retry {dead}"


def test_why_of_no_such_job_is_refused(run: Run) -> None:
    said = run("why", "nonsense")
    assert said.code == 1
    assert "there is no record of job 'nonsense'" in said.err


def test_a_waiting_job_leads_to_why(run: Run, job: str) -> None:
    assert f"penstock why {job}" in run("job", job).out


# -- health -----------------------------------------------------------------------------------------
def test_health_ends_with_a_code_for_each_status(run: Run, shop: Penstock, job: str) -> None:
    hire(shop)
    said = run("health")
    assert (said.code, said.out.startswith("✓ healthy")) == (0, True)
    assert "email  ok            1       0     0 %" in said.out
    assert "host:1  running  0/5   default, email" in said.out
    shop.settings = shop.settings.model_copy(update={"health_backlogged": 0})
    said = run("health")
    assert (said.code, said.out.startswith("! degraded")) == (1, True)
    assert "! queue email is backlogged: 1 waiting" in said.out
    count(shop, completed=1, failed=1)
    said = run("health")
    assert (said.code, said.out.startswith("✕ unhealthy")) == (2, True)
    assert "50 % of what ended in the last minute failed" in said.out


def test_health_of_an_engine_that_is_away_is_unhealthy_not_an_error(
    run: Run, shop: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engines.redis.server.TRIES", 1)
    shop.url = "redis://127.0.0.1:1/0"
    said = run("health", "--json")
    assert (said.code, said.json["status"], said.json["engine"]["status"]) == (2, "unhealthy", "unreachable")
    said = run("health")
    assert (said.code, said.err) == (2, "")
    assert "→ penstock doctor" in said.out


# -- top --------------------------------------------------------------------------------------------
def test_top_shows_one_frame_where_there_is_no_terminal(
    run: Run, shop: Penstock, dead: str, job: str
) -> None:
    hire(shop)
    count(shop, completed=30)
    run("pause", "email")
    said = run("top")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("✕ unhealthy")  # all that ended in the last minute has failed
    assert "1 waiting  0/5 slots busy" in said.out
    assert "30 done/min" in said.out
    assert "· queue email is paused, 1 waiting" in said.out
    assert "→ penstock resume email" in said.out
    assert "· dead letters: 1" in said.out


def test_top_shows_what_each_worker_runs(run: Run, shop: Penstock, job: str) -> None:
    hire(shop, slots=1)

    async def take() -> None:
        from penstock.engine import Want

        async with shop:
            want = Want("w", "request", {"email": 1}, 1, shop.registry.fingerprints(), 1)
            [claim] = (await shop.engine.claim(want)).claims
            await shop.engine.progress(claim.id, claim.token, '{"percent": 40}')

    asyncio.run(take())
    said = run("top", "--once", columns=60)
    assert re.search(r"host:1  running   1/1  send_receipt [\d.]+ s \(40 %\)", said.out)
    assert "Nothing needs attention." in said.out
    told = run("top", "--json").json
    assert [running["id"] for running in told["running"]["w"]] == [job]


async def test_top_looks_again_and_again_until_it_is_ended(
    shop: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, height=20)
    monkeypatch.setattr(top, "console", screen)
    frames, enough = [], asyncio.Event()
    real = top.frame

    def counted(*args: object) -> object:
        frames.append(args)
        if len(frames) == 3:
            enough.set()
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(top, "frame", counted)
    watching = asyncio.create_task(top._watch(shop, 0.01, None))
    await asyncio.wait_for(enough.wait(), 30)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("healthy") >= 2
    assert "\x1b[?1049l" in shown  # the screen is given back
