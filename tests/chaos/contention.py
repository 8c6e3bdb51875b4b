"""Eight processes on one SQLite file under mixed load, while a user's own transactions hold the write lock.

Nobody is told that the database is locked, nobody waits long for its turn, nobody's lease runs out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any, NamedTuple, TypeVar

from tests.chaos.stage import Stage, arguments, stage, verdict
from tests.conformance.kit import TASK, claim, end, failed, news, register, retried

from penstock.engine import JobFilter
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.decide import judge
from penstock.model.job import Claim
from penstock.model.outcome import COMPLETED
from penstock.model.states import State

T = TypeVar("T")
SPAWN = multiprocessing.get_context("spawn")
PROCESSES = 8
BOUND = 1.0  # seconds that a verb may wait for its turn, besides what a user held the lock
NOTEWORTHY = 0.1  # seconds; quicker calls are only counted
HELD = 0.32  # of the lease: user transactions stay below a third


class Call(NamedTuple):
    verb: str
    asked: float
    answered: float


class Report(NamedTuple):
    """What one process has done and met."""

    enqueued: set[str]
    completed: list[str]
    verbs: Counter[str]
    slow: list[Call]
    faults: list[str]


class Load:
    """One process: a worker, its heart, its upkeep, and somebody who looks at lists."""

    def __init__(self, engine: SqliteEngine, name: str, lease: float, seed: int) -> None:
        self._engine = engine
        self._name = name
        self._lease = lease
        self._rng = random.Random(f"{seed} {name}")
        self._held: list[Claim] = []
        self.report = Report(set(), [], Counter(), [], [])

    async def run(self, seconds: float) -> None:
        await register(self._engine, self._name, ttl=self._lease)
        heart = asyncio.create_task(self._beat())
        verbs = [self._enqueue, self._claim, self._settle, self._list, self._keep_up]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            [verb] = self._rng.choices(verbs, weights=[4, 5, 6, 4, 1])
            try:
                await verb()
            except Exception as error:
                self.report.faults.append(f"{verb.__name__}: {error!r}")
        if heart.done():
            self.report.faults.append(f"_beat: {heart.exception()!r}")
        heart.cancel()
        await asyncio.wait([heart])

    async def _timed(self, verb: str, call: Awaitable[T]) -> T:
        asked = time.monotonic()
        try:
            return await call
        finally:
            self.report.verbs[verb] += 1
            if (answered := time.monotonic()) - asked > NOTEWORTHY:
                self.report.slow.append(Call(verb, asked, answered))

    async def _beat(self) -> None:
        while True:
            if (await self._timed("beat", self._engine.beat(self._name, self._lease))).given_up:
                self.report.faults.append("given up")
            await asyncio.sleep(self._lease / 3)

    async def _enqueue(self) -> None:
        delay = self._rng.choice([0.0, 0.0, 0.5])
        jobs = news(self._rng.randint(1, 20), delay=delay)
        await self._timed("enqueue", self._engine.enqueue(jobs))
        self.report.enqueued.update(job.id for job in jobs)

    async def _claim(self) -> None:
        limit = self._rng.randint(1, 20)
        self._held += await self._timed("claim", claim(self._engine, worker=self._name, limit=limit))

    async def _settle(self) -> None:
        held, self._held = self._held, []
        ends = [end(h, self._rng.choices([COMPLETED, retried(), failed()], [90, 7, 3])[0]) for h in held]
        settled = await self._timed("settle", self._engine.settle(ends))
        for done, accepted in zip(ends, settled.accepted, strict=True):
            if not accepted:
                self.report.faults.append("a settlement was refused")
            elif done.outcome is COMPLETED:
                self.report.completed.append(done.id)

    async def _list(self) -> None:
        wheres = JobFilter(), JobFilter(task=TASK, state=State.COMPLETED), JobFilter(state=State.FAILED)
        await self._timed("list", self._engine.jobs(self._rng.choice(wheres), 50))
        await self._timed("list", self._engine.queues())

    async def _keep_up(self) -> None:
        await self._timed("stage", self._engine.stage(100))
        await self._timed("tidy", self._engine.tidy())
        if rescued := await self._timed("rescue", self._engine.rescue(100, judge)):
            self.report.faults.append(f"{len(rescued)} jobs of {rescued[0].worker} were rescued")


class User:
    """Somebody else's transactions, written in the plain way: they take the write lock and keep it."""

    def __init__(self, path: str, hold: float, seed: int) -> None:
        self._path = path
        self._hold = hold
        self._rng = random.Random(seed)
        self.holds: list[tuple[float, float]] = []
        self.waits: list[float] = []
        self.refused = 0

    def work_until(self, done: Callable[[], bool]) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("create table if not exists orders (n integer)")
            while not done():
                time.sleep(self._rng.uniform(0.5, 3.0))
                self._transact(connection)

    def _transact(self, connection: sqlite3.Connection) -> None:
        asked = time.monotonic()
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            self.refused += 1
            return
        began = time.monotonic()
        connection.execute("insert into orders values (1)")
        time.sleep(self._hold)
        connection.execute("commit")
        self.holds.append((began, time.monotonic()))
        self.waits.append(began - asked)


START: Any = None  # in a process of the pool: the barrier at which all begin


def line_up(start: Any) -> None:
    global START  # noqa: PLW0603 - the way a pool hands something to its processes
    START = start


def work(path: str, name: str, given: argparse.Namespace) -> Report:
    async def run() -> Report:
        engine = SqliteEngine(path)
        await engine.open()
        load = Load(engine, name, given.lease, given.seed)
        START.wait(60)
        await load.run(given.seconds)
        await engine.close()
        return load.report

    return asyncio.run(run())


def in_turn(call: Call, holds: list[tuple[float, float]]) -> float:
    """How long a call took besides the time in which a user held the lock."""
    held = sum(max(0.0, min(call.answered, end) - max(call.asked, begin)) for begin, end in holds)
    return call.answered - call.asked - held


async def known(path: str) -> int:
    """How many jobs the file knows, in whatever state; a new file gets its schema."""
    engine = SqliteEngine(path)
    await engine.open()
    queues = await engine.queues()
    await engine.close()
    return sum(sum(queue.counts.values()) for queue in queues)


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "contention", client=False) as made:
        path = str(made.folder / "jobs.db")
        asyncio.run(known(path))
        user = User(path, HELD * given.lease, given.seed)
        start = SPAWN.Barrier(PROCESSES + 1)
        with SPAWN.Pool(PROCESSES, line_up, (start,)) as pool:
            places = [(path, f"w{n}", given) for n in range(PROCESSES)]
            working = pool.starmap_async(work, places, chunksize=1)
            start.wait(60)
            user.work_until(working.ready)
            reports = working.get()
        return judged(made, user, reports, asyncio.run(known(path)))


def judged(made: Stage, user: User, reports: list[Report], in_the_file: int) -> bool:
    verbs = sum((report.verbs for report in reports), Counter[str]())
    slow = [call for report in reports for call in report.slow]
    slowest = max(slow, key=lambda call: in_turn(call, user.holds), default=Call("none", 0.0, 0.0))
    longest = in_turn(slowest, user.holds)
    enqueued = sum(len(report.enqueued) for report in reports)
    completed = Counter(job for report in reports for job in report.completed)
    faults: dict[str, Any] = dict(Counter(fault for report in reports for fault in report.faults))
    if longest > BOUND:
        faults["waited"] = f"{longest:.2f} s for {slowest.verb}"
    if user.refused:
        faults["user_refused"] = user.refused
    if completed.total() > len(completed):
        faults["completed_twice"] = completed.total() - len(completed)
    if enqueued != in_the_file:
        faults["lost"] = enqueued - in_the_file
    return verdict(made, faults, figures(verbs, enqueued, len(completed), user, slowest))


def figures(verbs: Counter[str], enqueued: int, completed: int, user: User, slowest: Call) -> str:
    held = sum(until - since for since, until in user.holds)
    return (
        f"{verbs.total()} verbs ({', '.join(f'{n} {verb}' for verb, n in verbs.most_common())}), "
        f"{enqueued} jobs enqueued, {completed} completed; {len(user.holds)} user transactions held the lock "
        f"for {held:.0f} s, and waited {median(user.waits):.2f} s for it in the middle, "
        f"{max(user.waits):.2f} s at worst; "
        f"longest wait for a turn besides: {in_turn(slowest, user.holds):.2f} s ({slowest.verb})"
    )


def main() -> None:
    given = arguments("eight processes on one SQLite file", ("sqlite",), seconds=120.0, lease=6.0)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
