"""A process killed at each named point between the ledger and Redis: every job that has a row ends once.

Each dies in a fork of its own, at a random passing of the point; a point that is never hit fails. Where a run
had ended and nothing of it was written, it may be run again; else no job is run twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from tests.chaos.outbox_points import killed
from tests.chaos.stage import arguments
from tests.servers import PostgresServer, RedisServer

from penstock import Context, Penstock, crash_points
from penstock.ledger import reconcile
from penstock.ledger.engine import LedgeredEngine
from penstock.model.clock import EngineClock
from penstock.model.job import Held
from penstock.model.outcome import Outcome, Released
from penstock.opening import make_engine
from penstock.tasks.ids import new_id

HOMES = ("postgres", "sqlite")
POINTS = tuple(point for point in crash_points.POINTS if point.startswith("ledger-"))
MAY_RUN_AGAIN = "ledger-saving"
MOST = 2  # passings of a point that each life surely has
ROUNDS = 50  # of work after a crash, until everything has ended
PUT_IN = (2, 1)  # jobs of one call each; the first is followed by another
SIZES = (3, 4)  # rows: the first call's and its follower, with the second's or without


class Trial:
    """One ledger and one prefix in Redis, which nobody has used before."""

    def __init__(self, redis: str, ledger: str, folder: Path) -> None:
        self.redis, self.ledger = redis, ledger
        self.schema = f"t{new_id().replace('-', '')}"
        self.runs, self.acknowledged = folder / f"{self.schema}.runs", folder / f"{self.schema}.ids"
        self.runs.touch()
        self.acknowledged.touch()

    def app(self) -> Penstock:
        made = Penstock(self.redis, ledger=self.ledger, schema=self.schema, name=self.schema)

        @made.task(name="work")
        async def work(ctx: Context, n: int) -> str:
            _note(self.runs, ctx.job.id)
            if n == 0:
                ctx.enqueue(follow.call())
            return ctx.job.id

        @made.task(name="follow")
        async def follow(ctx: Context) -> str:
            _note(self.runs, ctx.job.id)
            return ctx.job.id

        return made

    def first_life(self) -> None:
        asyncio.run(self._first_life())

    async def _first_life(self) -> None:
        app, n = self.app(), 0
        async with app:
            for count in PUT_IN:
                calls = [app.call_by_name("work", {"n": n + each}) for each in range(count)]
                for job in await app.aenqueue_many(calls):
                    _note(self.acknowledged, job.id)
                n += count
            await app.worker().run(burst=True)

    def second_life(self) -> None:
        reconcile.GRACE = 0.0  # nobody else is about to dispatch anything
        asyncio.run(self._second_life())

    async def _second_life(self) -> None:
        app = self.app()
        async with app:
            assert isinstance(app.engine, LedgeredEngine)
            for _ in range(ROUNDS):
                for worker in await app.engine.workers():  # a lease that a dead one cannot renew
                    await app.engine.rescue_worker(worker.id, frozenset(), _back)
                await app.ops.reconcile()
                await app.worker().run(burst=True)
                if not (await app.engine._books.counts())[0]:
                    break

    def rows(self) -> dict[str, tuple[str, str | None]]:
        sql = "select cast(id as text), status, result_json from {}"
        if self.ledger.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(self.ledger.removeprefix("sqlite:///"))) as file:
                found = file.execute(sql.format("penstock_background_jobs")).fetchall()
        else:
            with psycopg.connect(self.ledger) as server:
                found = server.execute(sql.format(f"{self.schema}.background_jobs").encode()).fetchall()
        return {job_id: (status, result) for job_id, status, result in found}


def _note(file: Path, line: str) -> None:
    with file.open("a") as opened:
        opened.write(f"{line}\n")


def _back(_: Held) -> Outcome:
    return Released("its worker was killed", rescued=True)


def once(trial: Trial, point: str, passing: int) -> str:
    """One crash and what comes after it; what was wrong."""
    asyncio.run(_migrate(trial))
    if not killed(trial.first_life, f"{point}:{passing}"):
        return "the point was not hit"
    if killed(trial.second_life, ""):
        return "the second life died"
    return _wrong(trial, point)


async def _migrate(trial: Trial) -> None:
    engine = make_engine(trial.redis, trial.schema, EngineClock(), trial.ledger)
    await engine.migrate()
    await engine.close()


def _wrong(trial: Trial, point: str) -> str:
    rows, runs = trial.rows(), trial.runs.read_text().split()
    if lost := set(trial.acknowledged.read_text().split()) - rows.keys():
        return f"{len(lost)} acknowledged jobs have no row"
    if len(rows) not in SIZES:
        return f"{len(rows)} rows"
    if rows != {job_id: ("completed", json.dumps(job_id)) for job_id in rows}:
        return f"not all have completed: {sorted(status for status, _ in rows.values())}"
    if set(runs) != rows.keys():
        return f"{len(set(runs))} jobs ran of {len(rows)}"
    if len(runs) > len(rows) and point != MAY_RUN_AGAIN:
        return f"{len(runs)} runs of {len(rows)} jobs"
    return ""


@contextlib.contextmanager
def ledgers(home: str, folder: Path) -> Iterator[Callable[[], str]]:
    """Where the next trial keeps its ledger."""
    if home == "sqlite":
        yield lambda: f"sqlite:///{folder / new_id()}.db"
        return
    with PostgresServer() as server:
        yield server.url


def run(home: str, times: int, rng: random.Random) -> bool:
    good = True
    folder = Path(tempfile.mkdtemp(prefix="penstock-ledger-points-"))
    logging.basicConfig(filename=folder / "log", force=True)
    with ledgers(home, folder) as ledger, RedisServer(appendonly="yes", appendfsync="always") as redis:
        for point in POINTS:
            began = time.monotonic()
            wrong = [
                once(Trial(redis.url(), ledger(), folder), point, rng.randint(1, MOST)) for _ in range(times)
            ]
            faults = [found for found in wrong if found]
            good = good and not faults
            took = f"in {time.monotonic() - began:.0f} s"
            said: Any = "OK" if not faults else faults[:3]
            print(f"{home:<9}{point:<18}{times} kills {took}: {said}", flush=True)
    return good


def main() -> None:
    given = arguments("ledger points", engines=HOMES, times=50)
    good = [run(home, given.times, random.Random(given.seed)) for home in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
