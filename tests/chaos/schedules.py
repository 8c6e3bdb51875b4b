"""Schedulers killed and started again at random: each tick makes one job, and none is left out."""

from __future__ import annotations

import argparse
import random
import sys
import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

from tests.acceptance.fleet import Tree
from tests.chaos import history
from tests.chaos import schedule_tasks as tasks
from tests.chaos.stage import Stage, arguments, stage, until, verdict

from penstock.engine import TICKS_KEPT, TickRecord
from penstock.model.schedule import tick_id


class Killing:
    """Keeps so many trees of workers up, and kills one of them now and then, sometimes all."""

    def __init__(self, made: Stage, given: argparse.Namespace) -> None:
        self._made = made
        self._rng = random.Random(given.seed)
        self._trees = [self._start() for _ in range(given.workers)]
        self.killed = 0

    def run(self, ticks: int) -> None:
        self._made.up(*self._trees)
        wanted = ticks / len(tasks.NAMES)
        ends = time.monotonic() + 3 * wanted + 60
        while (fired := len(self.ticks(tasks.NAMES[0]))) < wanted and time.monotonic() < ends:
            self._made.tell(f"{self.killed} kills, {fired * len(tasks.NAMES)}/{ticks} ticks")
            time.sleep(self._rng.uniform(0.2, 2.0))
            up = [at for at, tree in enumerate(self._trees) if self._made.is_up(tree)]
            whole = self._rng.random() < 0.05
            for at in up if whole else up and [self._rng.choice(up)]:
                self._trees[at].kill()
                self.killed += 1
                self._trees[at] = self._start()

    def ticks(self, name: str) -> list[TickRecord]:
        found: list[TickRecord] = self._made.ask(lambda e: e.ticks(name, TICKS_KEPT))
        return found

    def _start(self) -> Tree:
        return self._made.start("--concurrency", "2", lease=2.0)


def faults_of(made: Stage, killing: Killing) -> tuple[dict[str, Any], int]:
    """Ticks and jobs that are missing, twice there, or at the wrong time; and how many ticks there were."""
    faults: dict[str, Any] = {}
    records = made.records()
    started = {e["job"] for e in history.read(made.history) if e["f"] == "start"}
    expected: set[str] = set()
    for name in tasks.NAMES:
        ticks = killing.ticks(name)
        dues = sorted(tick.due for tick in ticks)
        expected |= {tick_id(name, due) for due in dues}
        if any(b - a != timedelta(seconds=1) for a, b in pairwise(dues)):
            faults[f"{name}: not each second once"] = [str(b - a) for a, b in pairwise(dues)]
        if wrong := [tick.note for tick in ticks if tick.job_id != tick_id(name, tick.due)]:
            faults[f"{name}: ticks without their job"] = wrong
    for what, found in (("jobs", set(records)), ("started", started)):
        if found != expected:
            faults[what] = {"missing": sorted(expected - found)[:5], "too many": sorted(found - expected)[:5]}
    return faults, len(expected)


def run(engine: str, given: argparse.Namespace) -> bool:
    with stage(engine, "schedules", module=tasks) as made:
        killing = Killing(made, given)
        killing.run(given.ticks)
        for name in tasks.NAMES:
            made.ask(lambda e, name=name: e.pause_schedule(name, True, None))
        drained = until(lambda: made.left() == 0, patience=60)
        faults, ticks = faults_of(made, killing)
        if not drained:
            faults["not_drained"] = made.left()
        if ticks < given.ticks:
            faults["too few ticks"] = ticks
        return verdict(made, faults, f"{ticks} ticks, {killing.killed} kills of {given.workers} schedulers")


def main() -> None:
    given = arguments("schedules", workers=8, ticks=200)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
