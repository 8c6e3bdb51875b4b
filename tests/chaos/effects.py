"""Workers killed at every crash point around an effect: each effect is made once, and nothing is lost.

Jobs make their effects in two ways: in the transaction that completes them (SQLite, PostgreSQL), and in a
transaction of the user's own database, behind a record of `ctx.once`. A point that is never reached fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.acceptance.fleet import new_database
from tests.chaos import effects_tasks
from tests.chaos.stage import ROOT, Stage, arguments, stage, verdict

from penstock.model.job import Held
from penstock.model.outcome import Outcome, Released
from penstock.model.states import State
from penstock.outbox.tables import plan

TABLE = "create table effects_made (kind text not null, n integer not null)"
BOOK = (effects_tasks.book, effects_tasks.book_in_thread)
CHARGE = (effects_tasks.charge, effects_tasks.charge_in_thread)
OF_A_TRANSACTION = ("transaction-begun", "run-completed", "transaction-committed")
OF_ONE_CALL = ("settling", "settled")  # one call settles what has ended together
OF_ALL = ("effect-made", "once-written", "run-ended", *OF_ONE_CALL)
SUSPECTS = 0.1  # of the rounds: what was interrupted runs alone afterwards, in a process of its own
MOST_TRIES = 20


class Crashes:
    """Rounds of a few jobs each: a worker dies among them, others do the rest."""

    def __init__(self, made: Stage, given: argparse.Namespace) -> None:
        self._made = made
        self._times: int = given.times
        self._rng = random.Random(given.seed)
        self._tasks = BOOK if made.engine == "redis" else (*CHARGE, *BOOK)
        self.points = OF_ALL if made.engine == "redis" else (*OF_A_TRANSACTION, *OF_ALL)
        self.hits: Counter[str] = Counter()
        self.jobs = 0
        env = made.site.env | {"PENSTOCK_ACCEPT_UNSAFE": "persistence"}
        command = [sys.executable, "-m", "tests.chaos.effects_tasks"]
        self._log = (made.folder / "workers.log").open("ab")
        self._workers = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def run(self) -> None:
        for point in self.points:
            for n in range(MOST_TRIES * self._times):
                if self.hits[point] >= self._times:
                    break
                self._round(point)
                self._made.tell(
                    f"{point}: {self.hits[point]}/{self._times} crashes, {self.jobs} jobs (try {n + 1})"
                )
        self._finish()

    def close(self) -> None:
        assert self._workers.stdin is not None
        self._workers.stdin.close()
        self._workers.wait(30)
        self._log.close()

    def _round(self, point: str) -> None:
        self._made.enqueue([task.call(n=self.jobs + i) for i, task in enumerate(self._tasks)])
        self.jobs += len(self._tasks)
        nth = 1 if point in OF_ONE_CALL else self._rng.randint(1, 2)
        code = self._work(f"{point}:{nth}")
        if code == -signal.SIGKILL:
            self.hits[point] += 1
        elif code:
            raise SystemExit(f"a worker ended with {code}; see {self._made.folder}")
        self._rescue()

    def _finish(self) -> None:
        for _ in range(MOST_TRIES):
            if self._work("") == 0 and not self._made.left():
                return
            self._rescue()

    def _work(self, crash_at: str) -> int:
        """Have a worker do what there is; how it ended."""
        assert self._workers.stdin is not None
        assert self._workers.stdout is not None
        self._workers.stdin.write(json.dumps(crash_at) + "\n")
        self._workers.stdin.flush()
        return int(self._workers.stdout.readline())

    def _rescue(self) -> None:
        """At once: nobody need wait for a lease that a dead worker cannot renew."""
        suspect = self._rng.random() < SUSPECTS

        def judge(_: Held) -> Outcome:
            # Not counted as lost: what is first in line may be hit in every round.
            return Released("its worker was killed", suspect=suspect)

        # More than once: a job in a transaction is locked until the server has seen that its client is gone.
        while workers := self._made.ask(lambda engine: engine.workers()):
            for worker in workers:
                self._made.ask(lambda engine, one=worker.id: engine.rescue_worker(one, frozenset(), judge))

    # -- the verdict ----------------------------------------------------------------------------------
    def faults(self) -> dict[str, Any]:
        made = Counter(self._effects())
        expected = {(task.name, n) for n, task in self._expected()}
        found = {
            "made twice": [f"{kind} {n}" for (kind, n), times in made.items() if times > 1],
            "lost": [f"{kind} {n}" for kind, n in sorted(expected - made.keys())],
            "from nowhere": [f"{kind} {n}" for kind, n in sorted(made.keys() - expected)],
            "not completed": self.jobs - self._made.counts()[State.COMPLETED],
            "never hit": [point for point in self.points if self.hits[point] < self._times],
        }
        return {what: which for what, which in found.items() if which}

    def _expected(self) -> list[tuple[int, Any]]:
        return [(n, self._tasks[n % len(self._tasks)]) for n in range(self.jobs)]

    def _effects(self) -> list[tuple[str, int]]:
        rows: list[tuple[str, int]] = []
        if self._made.engine != "redis":
            rows += in_jobs_database("select kind, n from effects_made")
        with contextlib.closing(effects_tasks.home()) as connection:
            rows += [tuple(row) for row in connection.execute("select kind, n from effects_made").fetchall()]
        return rows


def in_jobs_database(sql: str) -> list[Any]:
    block = effects_tasks.app.transactions.own().begin(30.0)
    cursor = block.execute(sql, ())
    rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    block.commit()
    return rows


def make_home(made: Stage) -> None:
    """The user's own database: beside that of the jobs, and not the same."""
    url = f"sqlite:///{made.folder / 'home.db'}"
    if made.engine == "postgres":
        assert made.server is not None
        url = new_database(made.server.url())
    os.environ[effects_tasks.HOME] = made.site.env[effects_tasks.HOME] = url
    with contextlib.closing(effects_tasks.home()) as connection:
        script = plan("postgresql" if made.engine == "postgres" else "sqlite")
        run = connection.execute if made.engine == "postgres" else connection.executescript
        run(f"{script.rstrip().rstrip(';')}; {TABLE};")
        connection.commit()
    if made.engine != "redis":
        in_jobs_database(TABLE)


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "effects", module=effects_tasks) as made:
        make_home(made)
        crashes = Crashes(made, given)
        try:
            crashes.run()
        finally:
            crashes.close()
        figures = (
            f"{sum(crashes.hits.values())} crashes at {len(crashes.points)} points, "
            f"{given.times} at each; {crashes.jobs:,} effects, each made once"
        )
        return verdict(made, crashes.faults(), figures)


def main() -> None:
    given = arguments("Workers killed at every crash point around an effect", times=50)
    sys.exit(0 if all(run(engine, given) for engine in given.engines) else 1)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
