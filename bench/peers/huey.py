"""huey on SQLite, fsync on, threads; at most once. Its consumer looks every 2 ms."""

from __future__ import annotations

import os
import time
from typing import Any

from huey import SqliteHuey

from bench import loops
from bench.marks import Mark
from bench.peers.side import main

_mark: Mark | None = None


def _open(url: str) -> tuple[Any, Any]:
    huey = SqliteHuey("bench", filename=url.removeprefix("sqlite:///"), fsync=True)

    def noop(t: float) -> None:
        if _mark is not None:
            _mark.begin(t)

    return huey, huey.task(name="noop")(noop)


def _prepare(url: str) -> None:
    _open(url)


def _enqueue(url: str, jobs: float, cap: float) -> float:
    _, noop = _open(url)
    return loops.rate_sync(lambda: noop(0), int(jobs), cap)


def _bulk(url: str, jobs: float) -> float:
    """It has no bulk: one by one, within the same time."""
    began = time.perf_counter()
    _enqueue(url, jobs, 1e9)
    return jobs / (time.perf_counter() - began)


def _pace(url: str, jobs: float) -> None:
    _, noop = _open(url)
    begin = time.monotonic()
    for n in range(int(jobs)):
        time.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
        noop(time.monotonic())


def _work(url: str, slots: float) -> None:
    global _mark  # noqa: PLW0603 - one worker per process
    _mark = Mark(os.environ["BENCH_MARKS"])
    huey, _ = _open(url)
    huey.create_consumer(
        workers=int(slots), periodic=False, initial_delay=0.002, backoff=1.0, max_delay=0.002
    ).run()


if __name__ == "__main__":
    main({"prepare": _prepare, "enqueue": _enqueue, "bulk": _bulk, "pace": _pace, "work": _work})
