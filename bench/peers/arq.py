"""arq on Redis, looking every 20 ms, results not kept; at least once."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from arq import create_pool, func
from arq.connections import ArqRedis, RedisSettings
from arq.worker import Worker

from bench import loops
from bench.marks import Mark
from bench.peers.side import main

_AT_ONCE = 50


async def _pool(url: str) -> ArqRedis:
    return await create_pool(RedisSettings.from_dsn(url))


async def _prepare(url: str) -> None:
    await (await _pool(url)).ping()


async def _enqueue(url: str, jobs: float, cap: float) -> float:
    pool = await _pool(url)
    return await loops.rate(lambda: pool.enqueue_job("noop", 0.0), int(jobs), cap)


async def _bulk(url: str, jobs: float) -> float:
    """It has no bulk: many callers at once."""
    pool = await _pool(url)
    began = time.perf_counter()
    for _ in range(int(jobs) // _AT_ONCE):
        await asyncio.gather(*(pool.enqueue_job("noop", 0.0) for _ in range(_AT_ONCE)))
    return jobs / (time.perf_counter() - began)


async def _pace(url: str, jobs: float) -> None:
    pool = await _pool(url)
    begin = time.monotonic()
    for n in range(int(jobs)):
        await asyncio.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
        await pool.enqueue_job("noop", time.monotonic())


async def _work(url: str, slots: float) -> None:
    mark = Mark(os.environ["BENCH_MARKS"])

    async def noop(_ctx: dict[str, Any], t: float) -> None:
        mark.begin(t)

    worker = Worker(
        functions=[func(noop, name="noop", keep_result=0)],
        redis_settings=RedisSettings.from_dsn(url),
        max_jobs=int(slots),
        poll_delay=0.02,
        handle_signals=False,
    )
    await worker.main()


if __name__ == "__main__":
    main(
        {
            "prepare": lambda url: loops.run(_prepare(url)),
            "enqueue": lambda url, jobs, cap: loops.run(_enqueue(url, jobs, cap)),
            "bulk": lambda url, jobs: loops.run(_bulk(url, jobs)),
            "pace": lambda url, jobs: loops.run(_pace(url, jobs)),
            "work": lambda url, slots: loops.run(_work(url, slots)),
        }
    )
