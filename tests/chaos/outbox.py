"""Relays killed at random, Redis away for a while, one transaction that commits last of all.

Every order that was committed is charged once, by a job with the key of its row; no other is.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from tests.acceptance.fleet import new_database
from tests.chaos.stage import Stage, arguments, stage, until, verdict
from tests.servers import PostgresServer, RedisServer

from penstock.engine import JobFilter
from penstock.outbox.sqlite import LEASE
from penstock.tasks.call import Call

HOMES = ("postgresql", "sqlite")
# Seconds from the end of the outage to the next dispatch; on SQLite what a killed relay held comes later.
BOUND = {"postgresql": 5.0, "sqlite": 5.0 + LEASE}
SLOW = 25  # orders of the transaction that begins first and commits last
ORDER_KEYS = 40


class One:
    """A relay in a process of its own."""

    def __init__(self, made: Stage, number: int) -> None:
        self._log = made.folder / f"relay-{number}.log"
        command = [sys.executable, "-m", "penstock", "relay", "--app", made.ref]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=made.folder, env=made.site.env, stdout=log, stderr=log
            )

    @property
    def is_up(self) -> bool:
        return self._log.stat().st_size > 0


class Relays:
    """Keeps some relays alive, and kills one of them now and then."""

    def __init__(self, made: Stage, count: int, rng: random.Random) -> None:
        self._made = made
        self._rng = rng
        self._started = 0
        self._all = [self._start() for _ in range(count)]
        self.killed = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._kill_on)
        self.codes: list[int] = []

    def __enter__(self) -> Self:
        assert until(lambda: all(one.is_up for one in self._all), patience=120), "relays did not come up"
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for one in self._all:
            one.process.terminate()
        self.codes = [one.process.wait(30) for one in self._all]

    def _start(self) -> One:
        self._started += 1
        return One(self._made, self._started)

    def _kill_on(self) -> None:
        while not self._over.wait(self._rng.uniform(0.5, 3.0)):
            up = [at for at, one in enumerate(self._all) if one.is_up]
            if len(up) > 1:  # on a busy machine the others take long to come up again
                at = self._rng.choice(up)
                self._all[at].process.kill()
                self._all[at].process.wait()
                self.killed += 1
                self._all[at] = self._start()


class Orders:
    """Writes orders and their jobs, a few in each transaction; some are rolled back."""

    def __init__(self, made: Stage, tasks: ModuleType, rng: random.Random) -> None:
        self._made = made
        self._tasks = tasks
        self._rng = rng
        self.committed: set[int] = set()
        self._n = 0

    def write(self, most: int) -> int:
        """One transaction; how many orders were committed."""
        connection = self._tasks.connect()
        with contextlib.closing(connection):
            numbers = self._put(connection, self._rng.randint(1, min(most, 300)), ordered=True)
            if self._rng.random() < 0.1:
                connection.rollback()
                return 0
            connection.commit()
        self.committed |= numbers
        return len(numbers)

    @contextlib.contextmanager
    def slow(self) -> Iterator[None]:
        """A transaction that has written before all others, and commits after them."""
        with contextlib.closing(self._tasks.connect()) as connection:
            numbers = self._put(connection, SLOW, ordered=False)
            yield
            connection.commit()
        self.committed |= numbers

    def _put(self, connection: Any, count: int, *, ordered: bool) -> set[int]:
        numbers = range(self._n + 1, self._n + 1 + count)
        self._n += count
        calls = [self._call(n, ordered=ordered) for n in numbers]
        jobs = self._made.app.enqueue_many(calls, connection=connection)
        orders = [(n, job.id, job.key) for n, job in zip(numbers, jobs, strict=True)]
        self._tasks.insert(connection, "orders", orders)
        return set(numbers)

    def _call(self, n: int, *, ordered: bool) -> Call[Any]:
        key = f"order-{n}" if self._rng.random() < 0.2 else None
        line = None
        if ordered and self._rng.random() < 0.3:
            line = f"account-{self._rng.randrange(ORDER_KEYS)}"
        call: Call[Any] = self._tasks.charge.using(key=key, order=line).call(n=n)
        return call


def run(home: str, given: argparse.Namespace) -> bool:
    rng = random.Random(given.seed)
    rows = given.rows if home == "postgresql" else given.rows // 5  # where each order takes the whole file
    with contextlib.ExitStack() as closing:
        os.environ["PENSTOCK_OUTBOX"] = _database(home, closing)
        tasks = importlib.reload(importlib.import_module("tests.chaos.outbox_tasks"))
        made = closing.enter_context(stage("redis", f"outbox-{home}", module=tasks))
        made.engine = home
        made.site.env["PENSTOCK_OUTBOX"] = os.environ["PENSTOCK_OUTBOX"]
        _make_tables(made, tasks)
        return _run(made, tasks, rows, given, rng)


def _run(made: Stage, tasks: ModuleType, rows: int, given: argparse.Namespace, rng: random.Random) -> bool:
    trees = [made.start("--concurrency", "10", lease=10.0) for _ in range(2)]
    made.up(*trees)
    orders, faults = Orders(made, tasks, rng), {}
    began = time.monotonic()
    with Relays(made, given.relays, rng) as relays:
        # A second writer of SQLite would have to wait for the slow one: there it comes last, alone.
        with orders.slow() if made.engine == "postgresql" else contextlib.nullcontext():
            back_in = _feed(made, tasks, orders, rows, given.down)
            if not until(lambda: _waiting(made, tasks) == 0, patience=180):
                faults["not dispatched"] = _waiting(made, tasks)
        if made.engine == "sqlite":
            with orders.slow():
                pass
        if not until(lambda: _waiting(made, tasks) == 0, patience=30):
            faults["slow transaction missed"] = _waiting(made, tasks)
        dispatched_in = time.monotonic() - began
    if any(code not in (0, -signal.SIGTERM) for code in relays.codes):  # one may have just been started
        faults["exit codes"] = relays.codes
    if not made.drain(patience=60):
        faults["not drained"] = made.left()
    if back_in > BOUND[made.engine]:
        faults["back too late"] = back_in
    runs = _judge(made, tasks, orders, faults)
    figures = (
        f"{len(orders.committed):,} orders committed, {orders._n - len(orders.committed):,} rolled back, "
        f"{relays.killed} kills of {given.relays} relays, Redis away for {given.down:g} s, "
        f"dispatching again {back_in:.1f} s later; all dispatched in {dispatched_in:.0f} s; {runs:,} runs"
    )
    return verdict(made, faults, figures)


def _feed(made: Stage, tasks: ModuleType, orders: Orders, rows: int, down: float) -> float:
    """Write all orders, with an outage in the middle; seconds from its end to the next dispatch."""
    outage = Outage(made, tasks, down)
    written = 0
    while written < rows - SLOW or outage.is_alive():
        if written < rows - SLOW:
            written += orders.write(rows - SLOW - written)
            if written >= rows // 3 and outage.ident is None:
                outage.start()
                outage.away.wait()  # what is written from now on waits for the end of the outage
        else:
            time.sleep(0.05)
        made.tell(f"{written:,} orders committed{', Redis is away' if outage.is_alive() else ''}")
    return outage.back_in


class Outage(threading.Thread):
    """Redis goes away, comes back, and some time later a row is dispatched again."""

    def __init__(self, made: Stage, tasks: ModuleType, down: float) -> None:
        super().__init__()
        self._server = made.server
        self._tasks = tasks
        self._down = down
        self.away = threading.Event()
        self.back_in = -1.0

    def run(self) -> None:
        assert isinstance(self._server, RedisServer)
        self._server.stop()
        self.away.set()
        time.sleep(self._down)
        before = _dispatched(self._tasks)
        self._server.start()
        back_at = time.monotonic()
        until(lambda: _dispatched(self._tasks) > before, patience=60)
        self.back_in = time.monotonic() - back_at


def _database(home: str, closing: contextlib.ExitStack) -> str:
    if home == "postgresql":
        return new_database(closing.enter_context(PostgresServer()).url())
    return f"sqlite:///{Path(tempfile.mkdtemp(prefix='penstock-user-')) / 'user.db'}"


def _make_tables(made: Stage, tasks: ModuleType) -> None:
    done = made.site.run("outbox", "apply", "--app", made.ref)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(tasks.connect()) as connection:
        if made.engine == "sqlite":
            connection.execute("pragma journal_mode = wal")
        for table in tasks.TABLES:
            connection.execute(table)
        connection.commit()


def _ask(tasks: ModuleType, sql: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(tasks.connect()) as connection:
        return list(connection.execute(sql).fetchall())


def _waiting(made: Stage, tasks: ModuleType) -> int:
    count = int(_ask(tasks, "select count(*) from penstock_outbox where dispatched_at is null")[0][0])
    made.tell(f"{count:,} rows wait")
    return count


def _dispatched(tasks: ModuleType) -> int:
    return int(_ask(tasks, "select count(*) from penstock_outbox where dispatched_at is not null")[0][0])


def _judge(made: Stage, tasks: ModuleType, orders: Orders, faults: dict[str, Any]) -> int:
    """What is wrong, by name; and how many runs there were."""
    known = {n: (job_id, key) for n, job_id, key in _ask(tasks, "select n, job_id, key from orders")}
    charges = defaultdict(list)
    for n, key in _ask(tasks, "select n, key from charges"):
        charges[n].append(key)
    jobs = {job.id: job for job in _jobs(made)}
    wrong = {
        "orders": set(known) ^ orders.committed,
        "not charged": known.keys() - charges.keys(),
        "charged, not ordered": charges.keys() - known.keys(),
        "charged twice": {n for n, keys in charges.items() if len(keys) > 1},
        "other key": {n for n, (_, key) in known.items() if charges[n] != [key]},
        "jobs": {job_id for job_id, _ in known.values()} ^ jobs.keys(),
        "not completed": {job.id for job in jobs.values() if job.state != "completed"},
        "key is not the row's": {
            n for n, (job_id, key) in known.items() if job_id in jobs and jobs[job_id].key != key
        },
        "out of order": _out_of_order(tasks, jobs),
    }
    faults.update({name: sorted(found, key=str)[:5] for name, found in wrong.items() if found})
    return int(_ask(tasks, "select count(*) from runs")[0][0])


def _out_of_order(tasks: ModuleType, jobs: dict[str, Any]) -> set[str]:
    """Order keys of which a later row was put in before an earlier one."""
    found, latest = set(), {}
    rows = _ask(tasks, "select id, order_key from penstock_outbox where order_key is not null order by seq")
    for job_id, line in rows:
        job = jobs.get(str(job_id))
        if job is not None:
            if job.created_at < latest.get(line, job.created_at):
                found.add(line)
            latest[line] = job.created_at
    return found


def _jobs(made: Stage) -> Iterator[Any]:
    after: str | None = None
    while page := made.ask(lambda e, after=after: e.jobs(JobFilter(), 200, after)):
        yield from page
        after = page[-1].id


def main() -> None:
    given = arguments("outbox", engines=HOMES, rows=50_000, relays=3, down=30.0)
    good = [run(home, given) for home in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
