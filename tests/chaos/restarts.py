"""The server crashes and comes back under load, again and again: nothing is lost and nobody exits."""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from statistics import median
from typing import Any

from tests.chaos import history, tasks
from tests.chaos.stage import Stage, arguments, stage, verdict

BOUND = 5.0  # seconds from the moment the server answers again to the next handler that begins
CHUNK = 20
LEASE = 15.0  # longer than a restart takes: nobody should be given up


class Feeder(threading.Thread):
    """Keeps some jobs waiting at all times, through every outage."""

    def __init__(self, made: Stage, rng: random.Random) -> None:
        super().__init__(daemon=True)
        self._made = made
        self._rng = rng
        self.stop = threading.Event()

    def run(self) -> None:
        n = 0
        while not self.stop.wait(0.1):
            if self._made.left() < 200:
                seconds = [self._rng.uniform(0.001, 0.1) for _ in range(CHUNK)]
                self._made.enqueue([tasks.on_loop.call(n=n + i, seconds=s) for i, s in enumerate(seconds)])
                n += CHUNK


def run(engine: str, given: argparse.Namespace) -> bool:
    rng = random.Random(given.seed)
    with stage(engine, "restarts") as made:
        assert made.server is not None
        trees = [made.start("--concurrency", "4", lease=LEASE) for _ in range(given.workers)]
        made.up(*trees)
        pids = [tree.workers() for tree in trees]
        feeder = Feeder(made, rng)
        feeder.start()
        ready: list[float] = []
        for n in range(given.restarts):
            time.sleep(rng.uniform(1.0, 3.0))
            made.server.crash()
            ready.append(made.note("ready"))
            made.tell(f"{n + 1}/{given.restarts} restarts")
        time.sleep(BOUND)
        feeder.stop.set()
        feeder.join()
        drained = made.drain(patience=60)
        found = made.judge()
        resumed = _resumed(history.read(made.history), ready)
        faults: dict[str, Any] = dict(found.faults)
        if max(resumed) > BOUND:
            faults["resumed_after"] = round(max(resumed), 2)
        if pids != [tree.workers() for tree in trees]:
            faults["worker_exits"] = sum(a != tree.workers() for a, tree in zip(pids, trees, strict=True))
        if not drained:
            faults["not_drained"] = made.left()
        return verdict(
            made,
            faults,
            f"{len(ready)} crashes of the server, {len(made.acknowledged)} jobs, {found.runs} runs; "
            f"work resumed after {median(resumed):.2f} s in the middle, {max(resumed):.2f} s at worst",
        )


def _resumed(events: list[history.Event], ready: list[float]) -> list[float]:
    """For each return of the server, how long until a handler began."""
    starts = sorted(e["t"] for e in events if e["f"] == "start")
    return [next((t for t in starts if t >= back), float("inf")) - back for back in ready]


def main() -> None:
    given = arguments("the server killed and started again", ("postgres", "redis"), restarts=10, workers=2)
    good = [run(engine, given) for engine in given.engines]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
