"""dramatiq on Redis: threads, at least once, with the middleware that it has by default."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import dramatiq
from dramatiq import Worker
from dramatiq.brokers.redis import RedisBroker

from bench import loops
from bench.marks import Mark
from bench.peers.side import main

_mark: Mark | None = None


def _open(url: str) -> tuple[Any, Any]:
    broker = RedisBroker(url=url)
    dramatiq.set_broker(broker)

    def noop(t: float) -> None:
        if _mark is not None:
            _mark.begin(t)

    return broker, dramatiq.actor(noop, broker=broker)


def _prepare(url: str) -> None:
    _open(url)


def _enqueue(url: str, jobs: float, cap: float) -> float:
    _, noop = _open(url)
    return loops.rate_sync(lambda: noop.send(0), int(jobs), cap)


def _bulk(url: str, jobs: float) -> float:
    """It has no bulk: one by one."""
    began = time.perf_counter()
    _enqueue(url, jobs, 1e9)
    return jobs / (time.perf_counter() - began)


def _pace(url: str, jobs: float) -> None:
    _, noop = _open(url)
    begin = time.monotonic()
    for n in range(int(jobs)):
        time.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
        noop.send(time.monotonic())


def _work(url: str, slots: float) -> None:
    global _mark  # noqa: PLW0603 - one worker per process
    _mark = Mark(os.environ["BENCH_MARKS"])
    broker, _ = _open(url)
    Worker(broker, worker_threads=int(slots)).start()
    signal.pause()


if __name__ == "__main__":
    main({"prepare": _prepare, "enqueue": _enqueue, "bulk": _bulk, "pace": _pace, "work": _work})
