"""Workers stopped for twice their lease inside a handler: whatever they say afterwards is refused.

In each round every worker takes one job; half of the trees are frozen, supervisor and all. The others rescue
and finish what the frozen ones held. Then the frozen are woken, and must change nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sqlite3
import sys
import time
from typing import Any, NamedTuple

import psycopg
from tests.acceptance.fleet import Tree, children_of
from tests.chaos import history, tasks
from tests.chaos.stage import Stage, arguments, stage, until, verdict

from penstock.engine import Settlement
from penstock.model.job import Job
from penstock.model.outcome import Completed

HOLD = 1.5  # seconds that a handler takes: long enough to be frozen inside


class Zombie(NamedTuple):
    """One run frozen inside its handler."""

    tree: Tree
    job: str
    run: str
    token: str
    worker: str


class Zombies:
    def __init__(self, made: Stage, given: argparse.Namespace) -> None:
        self._made = made
        self._lease: float = given.lease
        self._wanted: int = given.zombies
        self._rng = random.Random(given.seed)
        self._trees = [made.start("--concurrency", "1", lease=given.lease) for _ in range(given.workers)]
        self.zombies = 0
        self.settled_late: list[str] = []  # the record changed after the zombie woke
        self.token_accepted: list[str] = []
        self.unseen: list[str] = []  # neither refused nor stopped: no trace of its end

    def run(self) -> None:
        made, n = self._made, 0
        while self.zombies < self._wanted:
            made.up(*self._trees)
            task = self._rng.choice((tasks.on_loop, tasks.in_thread))
            ids = made.enqueue([task.call(n=n + i, seconds=HOLD) for i in range(len(self._trees))])
            n += len(ids)
            self._round(set(ids))
            made.tell(f"{self.zombies}/{self._wanted} zombies")

    def _round(self, ids: set[str]) -> None:
        if not until(lambda: len(self._starts(ids)) >= len(ids) // 2):
            return
        frozen = self._freeze(ids)
        frozen_at = time.monotonic()
        until(lambda: all(self._job(z.job).state == "completed" for z in frozen))
        time.sleep(max(0.0, frozen_at + 2 * self._lease - time.monotonic()))
        before = {z.job: self._job(z.job) for z in frozen}
        done = [z for z in frozen if before[z.job].state == "completed"]
        for zombie in done:
            self._try_token(zombie)
        for tree in {z.tree for z in frozen}:
            _signal(tree, signal.SIGCONT)
        until(lambda: all(self._has_ended(z) for z in done))
        for zombie in done:
            self._judge(zombie, before[zombie.job])
        until(lambda: self._made.left() == 0)

    def _freeze(self, ids: set[str]) -> list[Zombie]:
        """Stop half of the trees while each runs one of the jobs."""
        victims = self._rng.sample(self._trees, len(self._trees) // 2)
        registered = self._made.registered()
        tokens = self._tokens(ids)
        found: list[Zombie] = []
        for tree in victims:
            _signal(tree, signal.SIGSTOP)
            zombie = self._inside(tree, ids, tokens, {registered.get(pid) for pid in tree.workers()})
            if zombie is None:
                _signal(tree, signal.SIGCONT)
            else:
                found.append(zombie)
        return found

    def _inside(
        self, tree: Tree, ids: set[str], tokens: dict[str, tuple[str, str]], workers: set[str | None]
    ) -> Zombie | None:
        """The run of this worker that has begun and not ended."""
        ended = {e["run"] for e in history.read(self._made.history) if e["f"] == "end"}
        for e in self._starts(ids):
            token, holder = tokens.get(e["job"], ("", ""))
            if e["run"] not in ended and e["worker"] in workers and holder == e["worker"]:
                return Zombie(tree, e["job"], e["run"], token, holder)
        return None

    def _try_token(self, zombie: Zombie) -> None:
        """What the zombie would say, said directly to the engine: refused."""
        late = Settlement(zombie.job, zombie.token, Completed('"zombie"'))
        settled = self._made.ask(lambda e: e.settle([late]))
        moved = self._made.ask(lambda e: e.progress(zombie.job, zombie.token, '{"percent": 1}'))
        if settled.accepted != [False] or moved:
            self.token_accepted.append(zombie.job)

    def _has_ended(self, zombie: Zombie) -> bool:
        """Its worker has stopped because its lease was over, or was told that its settlement is refused."""
        log = zombie.tree.log()
        return zombie.token in log or zombie.worker not in self._made.registered().values()

    def _judge(self, zombie: Zombie, before: Job) -> None:
        self.zombies += 1
        if not self._has_ended(zombie):
            self.unseen.append(zombie.job)
        after = self._job(zombie.job)
        if (after.state, after.result, after.finished_at) != (
            before.state,
            before.result,
            before.finished_at,
        ):
            self.settled_late.append(zombie.job)
        if after.result == zombie.run:
            self.settled_late.append(zombie.job)

    # -- looking --------------------------------------------------------------------------------------
    def _starts(self, ids: set[str]) -> list[history.Event]:
        return [e for e in history.read(self._made.history) if e["f"] == "start" and e["job"] in ids]

    def _job(self, job_id: str) -> Job:
        found: Job = self._made.ask(lambda e: e.get(job_id))
        return found

    def _tokens(self, ids: set[str]) -> dict[str, tuple[str, str]]:
        """The tokens, and whose they are, as storage has them: no verb tells them."""
        url = self._made.site.url
        if self._made.engine == "sqlite":
            with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                rows = connection.execute("select id, token, worker from penstock_jobs").fetchall()
        else:
            with psycopg.connect(url) as connection:
                rows = connection.execute(
                    "select id::text, token::text, worker from penstock.jobs"
                ).fetchall()
        return {job: (token, worker) for job, token, worker in rows if job in ids and token}


def _signal(tree: Tree, number: signal.Signals) -> None:
    """To the supervisor first, then to all below it."""
    for pid in [tree.pid, *tree.workers(), *(c for w in tree.workers() for c in children_of(w))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "zombies") as made:
        began = time.monotonic()
        zombies = Zombies(made, given)
        zombies.run()
        drained = made.drain(patience=60)
        found = made.judge()
        faults: dict[str, Any] = dict(found.faults)
        for name in ("settled_late", "token_accepted", "unseen"):
            if wrong := getattr(zombies, name):
                faults[name] = len(wrong)
        if not drained:
            faults["not_drained"] = made.left()
        refused = sum(log.count("settlement refused") for log in made.logs())
        took = time.monotonic() - began
        return verdict(
            made,
            faults,
            f"{zombies.zombies} zombies in {took:.0f} s; {zombies.zombies - len(zombies.token_accepted)} old "
            f"tokens refused by the engine; {refused} woke and were refused, the others saw their lease was "
            f"over; {len(zombies.settled_late)} late settlements accepted",
        )


def main() -> None:
    given = arguments("zombies: stopped for twice the lease", zombies=100, workers=10, lease=2.0)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
