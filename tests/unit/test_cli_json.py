"""`--json`: every command that lists or acts has it, and prints one document with it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_kit import Run, Said, dead_letter, loaded_shop, runner  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.cli import main
from penstock.engine import WorkerInfo
from penstock.model.breaker import Breaker
from penstock.runtime.announce import announce
from penstock.tasks.loading import load_app

RUN_UNTIL_ENDED = {"demo", "dev", "serve", "table work", "worker"}  # what they print is a log

DECLARED = """
app.schedule("nightly", fail, cron="15 4 * * *", args={{"what": "x"}})

@app.table("invoices", output="receipts", source_column="invoice_id", url="sqlite:///{file}")
async def process(ctx, row):
    return {{"text": "a receipt"}}
"""


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Whatever can be typed: the commands, and the groups that do something by themselves."""
    inner = getattr(command, "commands", {})
    if not inner or (command.invoke_without_command and words):
        yield " ".join(words), command
    for word, each in inner.items():
        yield from commands(each, (*words, word))


def test_every_command_that_lists_or_acts_takes_json() -> None:
    typed = dict(commands(typer.main.get_command(main.app)))
    without = {
        words
        for words, command in typed.items()
        if not any("--json" in option.opts for option in command.params)
    }
    assert {"pause", "dlq", "dlq recover", "table plan"} <= typed.keys()
    assert without == RUN_UNTIL_ENDED


def one_document(said: Said) -> Any:
    assert (said.code, said.err) == (0, "")
    return said.json


@pytest.fixture(name="shop")
def shop_with_all_that_can_be_acted_on(run: Run, tmp_path: Path) -> Penstock:
    books = tmp_path / "books.db"
    with sqlite3.connect(books) as connection:
        connection.executescript(
            "create table invoices (id integer primary key, created_at text, status text);"
            "create table receipts (id integer primary key, invoice_id integer, text text);"
        )
    connection.close()
    module = tmp_path / "cli_shop.py"
    module.write_text(module.read_text() + DECLARED.format(file=books))
    app: Penstock = load_app("cli_shop:app")
    worker = WorkerInfo(id="w1", name="host:1", queues=("default",), slots=2)
    with app:
        app.run_on_engine(lambda engine: announce(engine, app.registry), "")
        app.run_on_engine(lambda engine: engine.put_breakers([Breaker(name="smtp")]), "")
        app.run_on_engine(lambda engine: engine.register(worker, 600.0), "")
    return app


@pytest.mark.usefixtures("shop")
def test_pausing_and_resuming_a_queue_is_one_document(run: Run) -> None:
    assert one_document(run("pause", "email", "--json")) == {"queue": "email", "paused": True}
    assert one_document(run("resume", "email", "--json")) == {"queue": "email", "paused": False}


@pytest.mark.usefixtures("shop")
def test_an_order_to_a_worker_is_one_document(run: Run) -> None:
    for verb, order in (("quiet", "quiet"), ("resume", None), ("stop", "stop")):
        told = one_document(run("workers", verb, "host:1", "--json"))
        assert (told["id"], told["name"], told["order"]) == ("w1", "host:1", order)
        assert run("workers", "--json").json[0]["order"] == order


@pytest.mark.usefixtures("shop")
def test_acting_on_a_schedule_is_one_document(run: Run) -> None:
    paused = one_document(run("schedules", "pause", "nightly", "--json"))
    assert paused == {"id": "nightly", "paused": True, "next_at": None}
    resumed = one_document(run("schedules", "resume", "nightly", "--json"))
    (listed,) = run("schedules", "--json").json
    assert resumed == {"id": "nightly", "paused": False, "next_at": listed["next_at"]}
    assert one_document(run("schedules", "fire", "nightly", "--json"))["job_id"]


@pytest.mark.usefixtures("shop")
def test_opening_and_closing_a_breaker_is_one_document(run: Run) -> None:
    assert one_document(run("breakers", "open", "smtp", "--json")) == {"breaker": "smtp", "state": "open"}
    assert one_document(run("breakers", "close", "smtp", "--json")) == {"breaker": "smtp", "state": "closed"}


def test_making_and_ending_a_token_is_one_document(run: Run) -> None:
    made = one_document(run("token", "create", "ci", "-s", "read", "--owner", "ana", "--json"))
    revoked = one_document(run("token", "revoke", made["id"], "--json"))
    assert revoked == {"id": made["id"], "revoked": True}


@pytest.mark.parametrize("group", ["outbox", "effects"])
def test_the_tables_in_ones_own_database_are_planned_and_made_as_one_document(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    url = f"sqlite:///{tmp_path / 'user.db'}"
    monkeypatch.setenv("PENSTOCK_OUTBOX", url)
    assert one_document(run(group, "plan", "--json")) == {"sql": run(group, "plan").out}
    assert one_document(run(group, "apply", "--json")) == {"database": url}


def test_removing_effects_is_one_document(run: Run, tmp_path: Path) -> None:
    database = ("--database", f"sqlite:///{tmp_path / 'user.db'}")
    run("effects", "apply", *database)
    assert one_document(run("effects", "prune", *database, "--json")) == {"removed": 0}


@pytest.mark.usefixtures("shop")
def test_what_a_table_needs_is_planned_and_made_as_one_document(run: Run) -> None:
    (planned,) = one_document(run("table", "plan", "--json"))
    assert planned["table"] == "invoices"
    assert {"sql", "why"} <= planned["steps"][0].keys()
    assert one_document(run("table", "apply", "--json")) == [planned]
    assert one_document(run("table", "plan", "--json")) == [{"table": "invoices", "steps": []}]


def test_acting_on_a_job_is_one_document(run: Run, shop: Penstock) -> None:
    with shop:
        job = shop.tasks["send_receipt"].using(delay=3600).enqueue(order_id=1)
    assert one_document(run("reschedule", job.id, "--in", "2h", "--json"))["id"] == job.id
    assert one_document(run("promote", job.id, "--json"))["state"] == "waiting"
    assert one_document(run("cancel", job.id, "--json"))["state"] == "cancelled"
    assert one_document(run("bulk", "cancel", "--yes", "--json"))["done"] == 0
    assert one_document(run("migrate", "--json")) == {"applied": []}


def test_acting_on_dead_letters_is_one_document(run: Run, dead: str) -> None:
    new = one_document(run("retry", dead, "--json"))["job_id"]
    assert one_document(run("dlq", "recover", dead, "--json"))["job_id"] == new
    assert one_document(run("dlq", "recover-all", "-t", "fail", "--json")) == {"recovered": 0, "job_ids": []}


def test_what_is_asked_before_is_no_part_of_the_document(
    run: Run, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("1\n"))
    said = run("dlq", "purge", "-t", "fail", "--json")
    assert (said.code, said.json) == (0, {"purged": 1})
    assert "1 dead letter match" in said.err
    assert dead not in run("dlq").out
