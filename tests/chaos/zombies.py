"""Workers stopped for twice their lease inside a handler: whatever they say afterwards is refused.

In each round every worker takes one job; half of the trees are stopped, supervisor and all. The others rescue
and finish what the stopped ones held. Then those are woken. Most do not know that they have slept: they
settle, the engine must refuse, and they must report it. The others see by their clock that their lease is
over, and must settle nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from tests.acceptance.fleet import Tree, all_below
from tests.chaos import asleep, history, tasks
from tests.chaos.stage import Stage, arguments, stage, until, verdict
from tests.servers import ask

from penstock.engine import Settlement
from penstock.engines.redis.codec import read_run, text_id
from penstock.model.job import Job
from penstock.model.outcome import Completed

HOLD = 1.5  # seconds that a handler takes: long enough to be stopped inside
KNOWING = 0.15  # how many of the stopped see by their clock that they were
PATIENCE = 20.0  # seconds for what a woken worker has to say


class Zombie(NamedTuple):
    """One run stopped inside its handler."""

    tree: Tree
    pid: int  # of its worker process
    job: str
    run: str
    token: str
    worker: str
    knows: bool  # that it was stopped: its clock has gone on

    @property
    def was_refused(self) -> bool:
        """Its worker has settled, and reports that the engine refused."""
        return f"settlement refused: job {self.job} had passed on (token {self.token})" in self.tree.log()

    @property
    def has_stopped(self) -> bool:
        """Its worker has seen that its lease was over."""
        return re.search(rf" {self.pid} this worker was given up", self.tree.log()) is not None


class Zombies:
    def __init__(self, made: Stage, given: argparse.Namespace) -> None:
        self._made = made
        self._lease: float = given.lease
        self._wanted: int = given.zombies
        self._rng = random.Random(given.seed)
        self._clocks: dict[int, Path] = {}  # by the pid of the supervisor
        self._trees = [self._start(n) for n in range(given.workers)]
        self.refused = 0
        self.stopped = 0  # by themselves
        self.settled_late: list[str] = []  # the record changed after the zombie woke
        self.token_accepted: list[str] = []
        self.silent: list[str] = []  # it should have settled, and no refusal was reported
        self.spoke: list[str] = []  # it should have settled nothing, and did

    def run(self) -> None:
        made, n = self._made, 0
        while self.refused + len(self.silent) < self._wanted:
            made.up(*self._trees)
            task = self._rng.choice((tasks.on_loop, tasks.in_thread))
            ids = made.enqueue([task.call(n=n + i, seconds=HOLD) for i in range(len(self._trees))])
            n += len(ids)
            self._round(set(ids))
            made.tell(f"{self.refused}/{self._wanted} refused, {self.stopped} stopped by themselves")

    def _start(self, n: int) -> Tree:
        clock = self._made.folder / f"clock-{n}"
        asleep.tell(clock)
        env = {asleep.VARIABLE: str(clock)}
        tree = self._made.start("--concurrency", "1", lease=self._lease, env=env)
        self._clocks[tree.pid] = clock
        return tree

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
        self._wake(frozen, time.monotonic() - frozen_at)
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
            _signal([tree.pid, *all_below(tree.pid)], signal.SIGSTOP)
            zombie = self._inside(tree, ids, tokens, registered)
            if zombie is None:
                _signal([tree.pid, *all_below(tree.pid)], signal.SIGCONT)
            else:
                found.append(zombie)
        return found

    def _inside(
        self, tree: Tree, ids: set[str], tokens: dict[str, tuple[str, str]], registered: dict[int, str]
    ) -> Zombie | None:
        """The run of this tree's worker that has begun and not ended."""
        pids = {registered.get(pid): pid for pid in tree.workers()}
        ended = {e["run"] for e in history.read(self._made.history) if e["f"] == "end"}
        for e in self._starts(ids):
            token, holder = tokens.get(e["job"], ("", ""))
            if e["run"] not in ended and e["worker"] in pids and holder == e["worker"]:
                knows = self._rng.random() < KNOWING
                return Zombie(tree, pids[holder], e["job"], e["run"], token, holder, knows)
        return None

    def _wake(self, frozen: list[Zombie], slept: float) -> None:
        """The worker first: its supervisor would tell it that it was given up, before it has said a word."""
        for zombie in frozen:
            asleep.tell(self._clocks[zombie.tree.pid], zombie.pid, 0.0 if zombie.knows else slept)
        for zombie in frozen:
            _signal([zombie.pid, *all_below(zombie.pid)], signal.SIGCONT)
        until(lambda: all(z.has_stopped if z.knows else z.was_refused for z in frozen), PATIENCE)
        for zombie in frozen:
            _signal([zombie.tree.pid], signal.SIGCONT)

    def _try_token(self, zombie: Zombie) -> None:
        """What the zombie would say, said directly to the engine: refused."""
        late = Settlement(zombie.job, zombie.token, Completed('"zombie"'))
        settled = self._made.ask(lambda e: e.settle([late]))
        moved = self._made.ask(lambda e: e.progress(zombie.job, zombie.token, '{"percent": 1}'))
        if settled.accepted != [False] or moved:
            self.token_accepted.append(zombie.job)

    def _judge(self, zombie: Zombie, before: Job) -> None:
        self._judge_words(zombie)
        after = self._job(zombie.job)
        if (after.state, after.result, after.finished_at) != (
            before.state,
            before.result,
            before.finished_at,
        ):
            self.settled_late.append(zombie.job)
        if after.result == zombie.run:
            self.settled_late.append(zombie.job)

    def _judge_words(self, zombie: Zombie) -> None:
        if not zombie.knows:
            self.refused += zombie.was_refused
            if not zombie.was_refused:
                self.silent.append(zombie.job)
        elif zombie.was_refused or not zombie.has_stopped:
            self.spoke.append(zombie.job)
        else:
            self.stopped += 1

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
        elif self._made.engine == "redis":
            rows = _redis_tokens(url)
        else:
            with psycopg.connect(url) as connection:
                rows = connection.execute(
                    "select id::text, token::text, worker from penstock.jobs"
                ).fetchall()
        return {job: (token, worker) for job, token, worker in rows if job in ids and token}


def _redis_tokens(url: str) -> list[tuple[str, str, str]]:
    stored = ask(url, "HGETALL", "{penstock}:runs")
    runs = {raw: read_run(run) for raw, run in zip(stored[::2], stored[1::2], strict=True)}
    return [(text_id(raw), run.token.hex(), run.worker) for raw, run in runs.items() if run.worker]


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
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
        for name in ("settled_late", "token_accepted", "silent", "spoke"):
            if wrong := getattr(zombies, name):
                faults[name] = len(wrong)
        if not drained:
            faults["not_drained"] = made.left()
        if zombies.refused < given.zombies:
            faults["refused"] = zombies.refused
        took = time.monotonic() - began
        return verdict(
            made,
            faults,
            f"{took:.0f} s; {zombies.refused} woke, settled, were refused by the engine and reported it; "
            f"{zombies.stopped} more saw that their lease was over and settled nothing; {found.by_expiry} "
            f"second starts, each after a heartbeat seen to expire; {len(zombies.settled_late)} late "
            f"settlements accepted",
        )


def main() -> None:
    given = arguments("zombies: stopped for twice the lease", zombies=100, workers=10, lease=2.0)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
