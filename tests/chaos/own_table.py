"""Instances over the user's own table, one of them killed every second: each row has one output at the end.

The output has no unique index here, so that nothing but our own fences keep a second one out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg
from tests.chaos.own_table_app import instance, make
from tests.servers import PostgresServer

from penstock.table.migration import is_once, plan

ENGINES = ("sqlite", "postgres")
# Instances are forked from a process that has loaded everything: they work at once, also on a busy machine.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.chaos.own_table_app"])
PATIENCE = 120.0  # seconds without a completed row, after which something is wrong

TABLES = {
    "postgres": (
        "create table invoices (id bigint primary key, total integer, created_at timestamptz, status text)",
        "create table receipts (id bigserial primary key, invoice_id bigint, text text)",
        "create index on receipts (invoice_id)",
    ),
    "sqlite": (
        "pragma journal_mode = wal",
        "create table invoices (id integer primary key, total integer, created_at text, status text)",
        "create table receipts (id integer primary key, invoice_id integer, text text)",
        "create index receipts_invoice on receipts (invoice_id)",
    ),
}
ROWS = {
    "postgres": "insert into invoices select n, n * 10, now(), 'queued' from generate_series(1, {n}) as n",
    "sqlite": "with recursive s(n) as (select 1 union all select n + 1 from s where n < {n}) "
    "insert into invoices select n, n * 10, datetime('now'), 'queued' from s",
}
COUNTS = """
select count(*), count(distinct invoice_id),
    (select count(*) from invoices where status = 'completed'),
    (select count(*) from invoices where status = 'started'),
    (select count(*) from invoices where status = 'failed'),
    (select coalesce(sum(stuck), 0) from invoices),
    (select count(*) from invoices as i join receipts as r on r.invoice_id = i.id
        where r.text <> 'receipt of ' || i.total)
from receipts
"""
DONE = "select count(*) from invoices where status in ('completed', 'failed')"


class Site:
    """A database of the user's, and instances that come and go."""

    def __init__(self, engine: str, folder: Path, url: str) -> None:
        self.engine = engine
        self.folder = folder
        self._url = url
        self.instances: list[Any] = []

    def _connect(self) -> Any:
        if self.engine == "postgres":
            return psycopg.connect(self._url, autocommit=True)
        return sqlite3.connect(self.folder / "own.db", timeout=60)

    def ask(self, sql: str) -> tuple[Any, ...]:
        with closing(self._connect()) as connection:
            found: tuple[Any, ...] = connection.execute(sql).fetchone()
            return found

    def prepare(self, rows: int) -> None:
        with closing(self._connect()) as connection:
            for statement in [*TABLES[self.engine], ROWS[self.engine].format(n=rows)]:
                connection.execute(statement)
            connection.commit()
        app = make(self._url)
        store = app.table_store(app.tables["invoices"])
        steps = plan(store.table, store.shape(), store.dialect)
        store.apply([step.sql for step in steps if not is_once(step)], together=True)
        store.close()

    def start(self) -> Any:
        process = FORKS.Process(target=instance, args=(self._url, str(self.folder / "log")))
        process.start()
        return process

    def close(self) -> None:
        for process in self.instances:
            process.kill()
            process.join()


def killing(site: Site, given: argparse.Namespace) -> int:
    """Kill one instance every second and start another, until every row has ended; how many were killed."""
    rng = random.Random(given.seed)
    site.instances = [site.start() for _ in range(given.instances)]
    killed, before, moved = 0, -1, time.monotonic()
    while (done := site.ask(DONE)[0]) < given.rows:
        if done != before:
            before, moved = done, time.monotonic()
        if time.monotonic() - moved > PATIENCE:
            break
        print(f"{site.engine:<9}{done:,}/{given.rows:,} rows, {killed} kills", flush=True)
        time.sleep(given.every)
        at = rng.randrange(len(site.instances))
        site.instances[at].kill()
        site.instances[at].join()
        site.instances[at] = site.start()
        killed += 1
    return killed


def stop(site: Site) -> list[int]:
    """Ask every instance to end; their exit codes."""
    for process in site.instances:
        process.terminate()
    for process in site.instances:
        process.join(60)
    return [process.exitcode for process in site.instances]


def verdict(site: Site, rows: int, codes: list[int]) -> dict[str, Any]:
    outputs, distinct, completed, started, failed, _, wrong = site.ask(COUNTS)
    wanted = {
        "outputs": (outputs, rows),
        "rows with an output": (distinct, rows),
        "completed": (completed, rows),
        "left started": (started, 0),
        "failed": (failed, 0),
        "wrong outputs": (wrong, 0),
        "bad exits": (sum(code not in (0, -signal.SIGTERM) for code in codes), 0),
    }
    return {what: found for what, (found, right) in wanted.items() if found != right}


def run(engine: str, given: argparse.Namespace) -> bool:
    folder = given.folder or Path(mkdtemp(prefix=f"penstock-own-table-{engine}-"))
    print(f"{engine}: rows of the user's own table, instances killed (seed {given.seed})", flush=True)
    with ExitStack() as closing_up:
        url = f"sqlite:///{folder / 'own.db'}"
        if engine == "postgres":
            url = closing_up.enter_context(PostgresServer(durable=given.durable)).url()
        site = Site(engine, folder, url)
        closing_up.callback(site.close)
        site.prepare(given.rows)
        began = time.monotonic()
        killed = killing(site, given)
        took = time.monotonic() - began
        faults = verdict(site, given.rows, stop(site))
        stuck = site.ask(COUNTS)[5]
    print(
        f"{engine:<9}{'OK' if not faults else f'VIOLATED: {faults}'}: {given.rows:,} rows, "
        f"{given.instances} instances, {killed} kills, {stuck} rows taken back, {took:.0f} s "
        f"({given.rows / took:,.0f}/s), seed {given.seed}; log: {folder}/log",
        flush=True,
    )
    return not faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.own_table", description=__doc__)
    parser.add_argument("engines", nargs="*", default=ENGINES, help="sqlite, postgres; both unless given")
    parser.add_argument("--rows", type=int, default=205_000)
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between kills")
    parser.add_argument(
        "--folder", type=Path, help="for the log, and for SQLite's file; a new one unless given"
    )
    parser.add_argument("--durable", action="store_true", help="PostgreSQL with fsync")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.randrange(10_000))))
    given = parser.parse_args()
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
