"""litequeue on SQLite: a queue, not a job system, and synchronous=NORMAL; one loop pops and marks as done."""

from __future__ import annotations

import os
import time

from litequeue import LiteQueue

from bench import loops
from bench.marks import Mark
from bench.peers.side import main


def _open(url: str) -> LiteQueue:
    return LiteQueue(url.removeprefix("sqlite:///"))


def _prepare(url: str) -> None:
    _open(url)


def _enqueue(url: str, jobs: float, cap: float) -> float:
    queue = _open(url)
    return loops.rate_sync(lambda: queue.put("0"), int(jobs), cap)


def _bulk(url: str, jobs: float) -> float:
    """It has no bulk: one by one."""
    return _enqueue(url, jobs, 1e9)


def _pace(url: str, jobs: float) -> None:
    queue = _open(url)
    begin = time.monotonic()
    for n in range(int(jobs)):
        time.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
        queue.put(repr(time.monotonic()))


def _work(url: str, _slots: float) -> None:
    mark = Mark(os.environ["BENCH_MARKS"])
    queue = _open(url)
    while True:
        message = queue.pop()
        if message is None:
            time.sleep(0.002)
            continue
        mark.begin(float(message.data))
        queue.done(message.message_id)


if __name__ == "__main__":
    main({"prepare": _prepare, "enqueue": _enqueue, "bulk": _bulk, "pace": _pace, "work": _work})
