"""Rows of the user's own table, worked on by real processes: beside jobs, alone, and in a web server."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from acceptance.fleet import Site, Tree, eventually

APP = """
import asyncio
from contextlib import asynccontextmanager

from fastapi import FastAPI
from penstock import Penstock

app = Penstock("sqlite:///jobs.db")

@app.table("invoices", output="receipts", source_column="invoice_id", batch=2, poll=0.1)
async def process(ctx, row):
    if row.total < 0:
        await asyncio.sleep(60)
    return {"text": f"receipt of {row.total}"}

@app.task
async def add(a: int, b: int) -> int:
    return a + b

@asynccontextmanager
async def lifespan(_: FastAPI):
    async with app.table_worker(grace=0):
        yield

web = FastAPI(lifespan=lifespan)
"""
LIFESPAN = """
import asyncio
from shop import web

async def main():
    async with web.router.lifespan_context(web):
        while True:
            await asyncio.sleep(0.05)
            if input() == "end":
                break

asyncio.run(main())
"""


class Shop:
    """A folder with an app, its books in the engine's own file, and processes that work there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = Site(folder, "sqlite:///jobs.db")
        self.site.env["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])

    def make_ready(self) -> None:
        (self.folder / "shop.py").write_text(APP)
        self.penstock("migrate")
        self.sql(
            "create table invoices (id integer primary key, total integer, created_at text, status text)"
        )
        self.sql("create table receipts (id integer primary key, invoice_id integer, text text)")
        self.penstock("table", "apply")

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.folder / "jobs.db", timeout=30)
        try:
            with connection:
                return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def queue(self, *totals: int) -> None:
        for total in totals:
            self.sql(f"insert into invoices (total, created_at, status) values ({total}, '', 'queued')")

    def statuses(self) -> list[str]:
        return [status for (status,) in self.sql("select status from invoices order by id")]

    def become(self, *statuses: str) -> None:
        eventually(lambda: self.statuses() == list(statuses), 60, f"{statuses}, not {self.statuses()}")

    def penstock(self, *words: str) -> None:
        command = [sys.executable, "-m", "penstock", *words, "--app", "shop:app"]
        subprocess.run(command, cwd=self.folder, env=self.site.env, check=True, timeout=60)

    def start(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(command, cwd=self.folder, env=self.site.env, text=True, **more)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop in which nobody has worked yet, to be copied."""
    folder = tmp_path_factory.mktemp("ready")
    Shop(folder).make_ready()
    return folder


@pytest.fixture
def shop(ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    shutil.copytree(ready, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    made = Shop(tmp_path)
    yield made
    made.site.close()


def worker(shop: Shop, *options: str) -> Tree:
    return shop.site.start(*options, app="shop:app")


def test_a_worker_works_on_tables_beside_its_jobs_and_ends_cleanly(shop: Shop) -> None:
    shop.queue(10, -1, 30)
    tree = worker(shop)
    shop.become("completed", "started", "completed")
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(within=30) == 0, tree.log()
    # What was not finished is as if it had never been taken.
    assert shop.sql("select status, attempts, claim, started_at from invoices where total < 0") == [
        ("queued", 0, None, None)
    ]
    assert shop.sql("select invoice_id, text from receipts order by 1") == [
        (1, "receipt of 10"),
        (3, "receipt of 30"),
    ]


def test_a_worker_may_leave_tables_to_others(shop: Shop) -> None:
    shop.queue(10)
    tree = worker(shop, "--no-tables")
    eventually(lambda: "takes jobs from" in tree.log(), 60, tree.log())
    assert "working on the rows" not in tree.log()
    assert shop.statuses() == ["queued"]


def test_a_table_that_is_not_migrated_keeps_a_worker_from_starting_and_says_why(shop: Shop) -> None:
    shop.sql("drop index invoices_penstock_started")
    shop.sql("alter table invoices drop column claim")
    tree = worker(shop)
    assert tree.exit_code(within=60) == 1
    assert "penstock table apply invoices" in tree.log()


def test_tables_are_worked_on_alone_and_rows_that_run_are_handed_back_at_the_second_signal(
    shop: Shop,
) -> None:
    shop.queue(10, -1)
    with ExitStack() as ending:
        alone = shop.start(sys.executable, "-m", "penstock", "table", "work", "--app", "shop:app")
        ending.callback(alone.wait)
        ending.callback(alone.kill)
        shop.become("completed", "started")
        alone.send_signal(signal.SIGTERM)

        def ended() -> bool:
            alone.send_signal(signal.SIGTERM)
            return alone.poll() is not None

        eventually(ended, 30, "ended")
        assert alone.returncode == 0
    assert shop.statuses() == ["completed", "queued"]


def test_rows_of_a_killed_process_come_back_when_they_are_stuck(shop: Shop) -> None:
    shop.queue(-1)
    alone = shop.start(sys.executable, "-m", "penstock", "table", "work", "--app", "shop:app")
    shop.become("started")
    alone.kill()
    alone.wait()
    shop.sql("update invoices set total = 10, started_at = datetime('now', '-11 minutes')")
    tree = worker(shop)
    shop.become("completed")
    assert shop.sql("select stuck from invoices") == [(1,)]
    assert "row 1 of invoices was stuck and is queued now" in tree.log()


def test_rows_are_worked_on_in_a_web_servers_lifespan(shop: Shop) -> None:
    shop.queue(10, -1)
    with shop.start(sys.executable, "-c", LIFESPAN, stdin=subprocess.PIPE) as server:
        shop.become("completed", "started")
        server.communicate("end\n", timeout=60)
    assert server.returncode == 0
    assert shop.statuses() == ["completed", "queued"]
