"""Writers and relays killed at each named point: what was committed is in the engine once, and nothing else.

Each is killed in a fork of its own, at a random passing of the point; a point that is never hit fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from tests.chaos.stage import arguments
from tests.servers import PostgresServer, RedisServer

from penstock import crash_points
from penstock.engine import Engine, JobFilter
from penstock.engines.redis.engine import RedisEngine
from penstock.lent import AsyncLent, lent
from penstock.model.clock import EngineClock
from penstock.model.job import NewJob
from penstock.outbox import sqlite as sqlite_store
from penstock.outbox.box import Outbox
from penstock.outbox.relay import Relay
from penstock.outbox.stores import make_store
from penstock.outbox.writer import Writer
from penstock.tasks.ids import new_id

HOMES = ("postgresql", "sqlite")
POINTS = tuple(point for point in crash_points.POINTS if point.startswith("outbox-"))
WRITER = "outbox-written"
MOST = 2  # passings of a point that each process surely has
HERE = "the engine"
ROWS = 900  # more than one batch

sqlite_store.LEASE = 0.2  # seconds; the next relay need not wait long for the rows of the dead one


class Trial:
    """One outbox and one engine, which nobody has used before."""

    def __init__(self, home: str, url: str, redis: str) -> None:
        self.home = home
        self.url = url
        self.redis = redis
        self.schema = f"t{new_id().replace('-', '')}"

    def connect(self) -> Any:
        if self.home == "sqlite":
            return sqlite3.connect(self.url.removeprefix("sqlite:///"))
        return psycopg.connect(self.url)

    def write(self, transactions: list[list[NewJob]]) -> None:
        for jobs in transactions:
            with contextlib.closing(self.connect()) as connection:
                on = lent(connection)
                assert not isinstance(on, AsyncLent)
                Writer(self.url, EngineClock(), HERE).enqueue(on, jobs)
                connection.commit()

    def relay(self) -> None:
        asyncio.run(self._relay())

    async def _relay(self) -> None:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Engine]:
            engine = RedisEngine(self.redis, schema=self.schema)
            await engine.migrate()
            await engine.open()
            yield engine
            await engine.close()

        relay = Relay(make_store(self.url, EngineClock(), HERE), opened, 60.0)
        while (await Outbox(self.url, EngineClock(), 60.0, HERE).status()).waiting:
            await relay.run(burst=True)

    def rows(self) -> list[str]:
        with contextlib.closing(self.connect()) as connection:
            return [str(row[0]) for row in connection.execute("select id from penstock_outbox order by seq")]

    async def jobs(self) -> list[str]:
        engine = RedisEngine(self.redis, schema=self.schema)
        await engine.migrate()
        await engine.open()
        found: list[str] = []
        while page := await engine.jobs(JobFilter(), 200, found[-1] if found else None):
            found += [job.id for job in page]
        await engine.close()
        return found


def killed(work: Callable[[], None], at: str) -> bool:
    """Do `work` in a fork that dies there; whether it has."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            crash_points.choose(at)
            work()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def once(trial: Trial, point: str, passing: int) -> str:
    """One crash and what comes after it; what was wrong."""
    asyncio.run(Outbox(trial.url, EngineClock(), 60.0, HERE).apply())
    transactions = [
        [
            NewJob(new_id(), "default", "app.charge", order=f"k{n % 7}" if n % 3 == 0 else None)
            for n in range(size)
        ]
        for size in (1, 20, ROWS)
    ]
    for jobs in transactions:
        jobs[:] = [job._replace(key=job.id) for job in jobs]
    if point == WRITER:
        if not killed(lambda: trial.write(transactions), f"{point}:{passing}"):
            return "the point was not hit"
        transactions = transactions[: passing - 1]
    else:
        trial.write(transactions)
        if not killed(trial.relay, f"{point}:{passing}"):
            return "the point was not hit"
    expected = [job.id for jobs in transactions for job in jobs]
    if trial.rows() != expected:
        return "the outbox does not hold what was committed"
    done = not killed(trial.relay, "")
    found = asyncio.run(trial.jobs()) if done else []
    return "" if sorted(found) == sorted(expected) else f"{len(found)} jobs for {len(expected)} rows"


@contextlib.contextmanager
def databases(home: str) -> Iterator[Callable[[], str]]:
    """Where the next trial finds an empty database."""
    if home == "sqlite":
        folder = Path(tempfile.mkdtemp(prefix="penstock-points-"))
        yield lambda: f"sqlite:///{folder / new_id()}.db"
        return
    with PostgresServer() as server, psycopg.connect(server.url(), autocommit=True) as connection:

        def emptied() -> str:
            connection.execute("drop table if exists penstock_outbox, penstock_effects")
            return server.url()

        yield emptied


def run(home: str, times: int, rng: random.Random) -> bool:
    good = True
    with databases(home) as new_url, RedisServer() as redis:
        for point in POINTS:
            wrong = [
                once(Trial(home, new_url(), redis.url()), point, rng.randint(1, MOST)) for _ in range(times)
            ]
            faults = [found for found in wrong if found]
            good = good and not faults
            print(f"{home:<11}{point:<19}{times} crashes: {'OK' if not faults else faults[:3]}", flush=True)
    return good


def main() -> None:
    given = arguments("outbox points", engines=HOMES, times=50)
    good = [run(home, given.times, random.Random(given.seed)) for home in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
