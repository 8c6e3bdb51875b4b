"""Redis flushed and killed under load, workers killed: what was acknowledged is in the ledger, and runs.

Redis keeps nothing on disk: a kill loses all that it held, or its last moments, where it was told to write
them down just before. In the end nothing is active there. Every completed row must bear the result of a
run that really came to its end. A queue that is paused all the while starts nothing before it is resumed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from tests.acceptance.fleet import Site, Tree, new_database
from tests.chaos.stage import ROOT, arguments
from tests.servers import PostgresServer, RedisServer

from penstock.model.errors import EngineError
from penstock.model.states import State

CHUNK = 50
SLOTS = "8"
LEASE = 3.0
LOSSES = ("rollbacks", "flushes", "crashes")
STILL = "from BACKGROUND_JOBS where queue_name = 'still'"


class Trouble(threading.Thread):
    """Kills a tree of workers now and then, and flushes or kills Redis, until told to stop."""

    def __init__(self, site: Site, ref: str, redis: RedisServer, given: argparse.Namespace) -> None:
        super().__init__(daemon=True)
        self._site, self._ref, self._redis, self._given = site, ref, redis, given
        self._rng = random.Random(given.seed)
        self._trees = [self._start() for _ in range(given.workers)]
        self.done: Counter[str] = Counter()
        self.enough = threading.Event()

    def _start(self) -> Tree:
        return self._site.start("-c", SLOTS, "--log-level", "warning", app=self._ref, lease=LEASE)

    def run(self) -> None:
        while not self.enough.wait(self._rng.uniform(0.5, 1.5)):
            if not self.finished and self._rng.random() < 0.3:
                self._lose_redis()
            else:
                at = self._rng.randrange(len(self._trees))
                self._trees[at].kill()
                self._trees[at] = self._start()
                self.done["kills"] += 1

    def _lose_redis(self) -> None:
        how = LOSSES[sum(self.done[each] for each in LOSSES) % len(LOSSES)]
        if how == "flushes":
            self._redis.ask("FLUSHALL")
        else:
            if how == "rollbacks":
                self._redis.ask("SAVE")
                time.sleep(self._rng.uniform(0.1, 1.0))  # which is lost
            self._redis.stop("KILL")
            time.sleep(self._rng.uniform(0.0, 2.0))  # as long as a restart takes somewhere else
            self._redis.start()
            (self._redis.folder / "dump.rdb").unlink(missing_ok=True)
        self.done[how] += 1

    @property
    def finished(self) -> bool:
        return sum(self.done[how] for how in LOSSES) >= self._given.losses


@contextlib.contextmanager
def place(given: argparse.Namespace) -> Iterator[tuple[Site, RedisServer, str, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="penstock-ledger-"))
    with RedisServer(save="", appendonly="no") as redis, PostgresServer() as postgres:
        ledger = (
            new_database(postgres.url())
            if given.ledger == "postgres"
            else f"sqlite:///{folder / 'ledger.db'}"
        )
        site = Site(folder, redis.url())
        own = {
            "PENSTOCK_URL": redis.url(),
            "PENSTOCK_LEDGER": ledger,
            "PENSTOCK_MIGRATE": "true",
            "CHAOS_RUNS": str(folder / "runs.jsonl"),
        }
        os.environ.update(own)
        path = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
        site.env |= own | {"PYTHONPATH": path}
        try:
            yield site, redis, ledger, folder
        finally:
            site.close()


def run(given: argparse.Namespace) -> bool:
    with place(given) as (site, redis, ledger, folder):
        tasks: Any = importlib.import_module("tests.chaos.ledger_tasks")
        asyncio.run(tasks.app.migrate())
        rng = random.Random(given.seed)
        with tasks.app:
            _set_paused(tasks, paused=True)
            trouble = Trouble(site, f"{tasks.__file__}:app", redis, given)
            trouble.start()
            began = time.monotonic()
            acknowledged = _feed(tasks, given, rng, trouble)
            while not trouble.finished:
                time.sleep(0.2)
            trouble.enough.set()
            trouble.join()
            left = _drain(ledger, folder, given.patience, "queue_name <> 'still'")
            ((early,),) = _ask(ledger, folder, f"select count(*) {STILL} and status <> 'pending'")
            _set_paused(tasks, paused=False)
            left += _drain(ledger, folder, given.patience, "queue_name = 'still'")
            active = _still_active(tasks, given.patience)
        ((paused,),) = _ask(ledger, folder, f"select count(*) {STILL}")
        figures = f"{dict(trouble.done)} in {time.monotonic() - began:.0f} s; {paused:,} in the paused queue"
        return _judge(acknowledged, _rows(ledger, folder), folder, (left, int(early), active), figures)


def _set_paused(tasks: Any, *, paused: bool) -> None:
    tasks.app.run_on_engine(lambda engine: engine.set_paused("still", paused), "await")


def _feed(tasks: Any, given: argparse.Namespace, rng: random.Random, trouble: Trouble) -> list[str]:
    acknowledged: list[str] = []
    n = 0
    while len(acknowledged) < given.jobs or not trouble.finished:
        calls = [tasks.work.call(n=n + i, seconds=rng.choice((0.0, 0.002, 0.05))) for i in range(CHUNK)]
        calls.append(tasks.stay.call(n=n))
        try:
            acknowledged += [job.id for job in tasks.app.enqueue_many(calls)]
        except EngineError as error:
            print(f"not accepted: {error}", flush=True)
        n += CHUNK
        time.sleep(0.05 if len(acknowledged) < given.jobs else 1.0)
    return acknowledged


def _ask(ledger: str, folder: Path, sql: str) -> list[tuple[Any, ...]]:
    if ledger.startswith("sqlite"):
        import sqlite3

        with contextlib.closing(sqlite3.connect(folder / "ledger.db")) as connection:
            return connection.execute(sql.replace("BACKGROUND_JOBS", "penstock_background_jobs")).fetchall()
    with psycopg.connect(ledger) as connection:
        return connection.execute(
            sql.replace("BACKGROUND_JOBS", "penstock.background_jobs").encode()
        ).fetchall()


def _drain(ledger: str, folder: Path, patience: float, of: str) -> int:
    """How many are left when nothing has ended for so long."""
    before, moved = -1, time.monotonic()
    while True:
        sql = f"select count(*) from BACKGROUND_JOBS where finished_at is null and {of}"
        ((left,),) = _ask(ledger, folder, sql)
        if left != before:
            before, moved = left, time.monotonic()
        if not left or time.monotonic() - moved > patience:
            return int(left)
        time.sleep(0.5)


def _still_active(tasks: Any, patience: float) -> int:
    """How many runs go on in Redis, though all have ended by their rows, when it was given time to hear."""
    until = time.monotonic() + patience
    while True:
        queues = tasks.app.run_on_engine(lambda engine: engine.queues(), "await")
        active = sum(queue.counts.get(State.ACTIVE, 0) for queue in queues)
        if not active or time.monotonic() > until:
            return active
        time.sleep(0.5)


def _rows(ledger: str, folder: Path) -> dict[str, tuple[str, str | None]]:
    found = _ask(ledger, folder, "select cast(id as text), status, result_json from BACKGROUND_JOBS")
    return {job_id: (status, result) for job_id, status, result in found}


def _judge(
    acknowledged: list[str],
    rows: dict[str, tuple[str, str | None]],
    folder: Path,
    wrong: tuple[int, int, int],
    figures: str,
) -> bool:
    left, early, active = wrong
    lines = (folder / "runs.jsonl").read_bytes().split(b"\n")[:-1]
    runs = [json.loads(line) for line in lines]
    ended = {(run["job"], run["run"]) for run in runs}
    false = [
        job_id
        for job_id, (status, result) in rows.items()
        if status == "completed" and (job_id, json.loads(result or "null")) not in ended
    ]
    logs = "".join(path.read_text(errors="replace") for path in folder.glob("worker-*.log"))
    faults = {
        "not in background_jobs": len([i for i in acknowledged if i not in rows]),
        "never ended": left,
        "begun in a paused queue": early,
        "still active in Redis": active,
        "failed": sum(status not in ("completed", "pending", "processing") for status, _ in rows.values()),
        "completed and did not": len(false),
    }
    good = not any(faults.values())
    told = {
        what: logs.count(what) for what in ("was lost by Redis", "not dispatched; it is now", "; not run")
    }
    print(
        f"{'OK' if good else 'VIOLATED: ' + json.dumps(faults)}: {len(acknowledged):,} jobs acknowledged, "
        f"{figures}"
    )
    print(f"{len(runs):,} runs of {len({run['job'] for run in runs}):,} jobs; repairs in the logs: {told}")
    print(f"history and logs: {folder}", flush=True)
    return good


def main() -> None:
    given = arguments(
        "Redis flushed and killed, workers killed, with a ledger",
        ("redis",),
        ledger="postgres",
        jobs=20_000,
        losses=10,
        workers=3,
        patience=60.0,
    )
    sys.exit(0 if run(given) else 1)


if __name__ == "__main__":
    main()
