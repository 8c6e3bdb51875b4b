"""Workers killed with kill -9 at random under load: nothing lost, nothing twice, nobody innocent dead."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import time
from typing import Any

from tests.acceptance.fleet import Tree, all_below, children_of
from tests.chaos import tasks
from tests.chaos.stage import Stage, arguments, stage, verdict

from penstock.tasks.call import Call

BOUND = 5.0  # seconds within which 99 of 100 interrupted jobs run again
CHUNK = 50


class Kills:
    """Keeps four trees alive, kills one of them now and then, and feeds them meanwhile."""

    def __init__(self, made: Stage, given: argparse.Namespace) -> None:
        self._made = made
        self._given = given
        self._rng = random.Random(given.seed)
        self._trees: list[Tree] = []
        self.killed = 0  # workers that the engine knew
        self.early = 0  # workers that had not come so far

    def run(self) -> bool:
        """To the end; whether everything ended."""
        given, made = self._given, self._made
        self._trees = [self._start() for _ in range(given.workers)]
        made.up(*self._trees)
        calls = [self._call(n) for n in range(given.jobs)]
        began = time.monotonic()
        next_kill = began + self._pause()
        while self.killed < given.kills or calls:
            due = given.jobs * min(1.0, (self.killed + 1) / given.kills)
            while calls and len(made.acknowledged) < due:
                made.enqueue(calls[:CHUNK])
                del calls[:CHUNK]
            if self.killed < given.kills and time.monotonic() >= next_kill:
                self._kill_one()
                next_kill = time.monotonic() + self._pause()
            ended = made.counts()["completed"]
            made.tell(f"{self.killed}/{given.kills} kills, {ended}/{given.jobs} jobs completed")
            time.sleep(0.05)
        return made.drain(patience=60)

    def _pause(self) -> float:
        return self._rng.uniform(0.2, 2.0)

    def _call(self, n: int) -> Call[Any]:
        long = self._rng.random() < 0.05
        seconds = self._rng.uniform(0.5, 2.0) if long else self._rng.uniform(0.001, 0.020)
        task = tasks.on_loop if self._rng.random() < 0.5 else tasks.in_thread
        return task.call(n=n, seconds=seconds)

    def _start(self) -> Tree:
        return self._made.start("--concurrency", str(self._given.slots), lease=self._given.lease)

    def _kill_one(self) -> None:
        """A worker process alone, or with its supervisor, in whatever state it and the others are."""
        at = self._rng.randrange(len(self._trees))
        whole = self._rng.random() < 0.5
        tree = self._trees[at]
        workers = tree.workers()
        if not workers:
            return
        registered = self._made.registered()
        ids = [registered[pid] for pid in workers if pid in registered]
        self._kill(tree, workers, ids, whole=whole)
        if ids:
            self.killed += 1
        else:
            self.early += 1
        if whole:
            tree.kill()
            self._trees[at] = self._start()

    def _kill(self, tree: Tree, workers: list[int], ids: list[str], *, whole: bool) -> None:
        """What is below a worker dies with it, and is watched; stopped first, it cannot grow meanwhile."""
        for worker in workers:
            for pid in (worker, *children_of(worker)):
                _signal(pid, signal.SIGSTOP)
        killed = [tree.pid, *workers] if whole else workers
        doomed = [*killed, *(pid for worker in workers for pid in all_below(worker))]
        self._made.witness.watch(doomed)
        self._made.note("kill", pids=doomed, workers=ids, whole=whole)
        for pid in killed:
            _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "kills") as made:
        began = time.monotonic()
        kills = Kills(made, given)
        kills.run()
        took = time.monotonic() - began
        found = made.judge()
        faults: dict[str, Any] = dict(found.faults)
        if found.recovered_in(0.99) > BOUND:
            faults["recovery_p99"] = round(found.recovered_in(0.99), 2)
        refused = sum(log.count("settlement refused") for log in made.logs())
        exits = sum(not tree.running for tree in kills._trees)
        if exits:
            faults["supervisors_ended"] = exits
        return verdict(
            made,
            faults,
            f"{kills.killed} kills (and {kills.early} of workers not registered yet), {given.jobs} jobs in "
            f"{took:.0f} s, {found.runs} runs, {found.interrupted} interrupted, {refused} late settlements "
            f"refused; second starts: {found.by_death} after the first process was seen dead, "
            f"{found.by_expiry} after an expired heartbeat; {found.recovery_figures()}",
        )


def main() -> None:
    given = arguments("kill -9 at random under load", kills=100, jobs=20_000, workers=4, slots=4, lease=3.0)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
