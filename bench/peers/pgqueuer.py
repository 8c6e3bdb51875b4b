"""pgqueuer on PostgreSQL, with asyncpg; the batch is as large as there are slots."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from bench import loops
from bench.marks import Mark
from bench.peers.side import main

_GROUP = 1_000


async def _queries(url: str) -> Queries:
    return Queries(AsyncpgDriver(await asyncpg.connect(url)))


async def _prepare(url: str) -> None:
    await (await _queries(url)).install()


async def _enqueue(url: str, jobs: float, cap: float) -> float:
    queries = await _queries(url)
    return await loops.rate(lambda: queries.enqueue("noop", b"0", 0), int(jobs), cap)


async def _bulk(url: str, jobs: float) -> float:
    queries = await _queries(url)
    began = time.perf_counter()
    for _ in range(int(jobs) // _GROUP):
        await queries.enqueue(["noop"] * _GROUP, [b"0"] * _GROUP, [0] * _GROUP)
    return jobs / (time.perf_counter() - began)


async def _pace(url: str, jobs: float) -> None:
    queries = await _queries(url)
    begin = time.monotonic()
    for n in range(int(jobs)):
        await asyncio.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
        await queries.enqueue("noop", repr(time.monotonic()).encode(), 0)


async def _work(url: str, slots: float) -> None:
    mark = Mark(os.environ["BENCH_MARKS"])
    pgq = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @pgq.entrypoint("noop")
    async def noop(job: Any) -> None:
        mark.begin(float(job.payload))

    await pgq.run(batch_size=int(slots), dequeue_timeout=timedelta(seconds=5))


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
