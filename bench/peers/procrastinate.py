"""procrastinate on PostgreSQL, with psycopg, woken by NOTIFY."""

from __future__ import annotations

import asyncio
import os
import time

import procrastinate

from bench import loops
from bench.marks import Mark
from bench.peers.side import main

_GROUP = 1_000
_mark: Mark | None = None


def _app(url: str) -> procrastinate.App:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop(t: float) -> None:
        assert _mark is not None
        _mark.begin(t)

    return app


async def _prepare(url: str) -> None:
    async with (app := _app(url)).open_async():
        await app.schema_manager.apply_schema_async()


async def _enqueue(url: str, jobs: float, cap: float) -> float:
    async with (app := _app(url)).open_async():
        return await loops.rate(lambda: app.tasks["noop"].defer_async(t=0), int(jobs), cap)


async def _bulk(url: str, jobs: float) -> float:
    async with (app := _app(url)).open_async():
        began = time.perf_counter()
        for _ in range(int(jobs) // _GROUP):
            await app.tasks["noop"].batch_defer_async(*({"t": 0} for _ in range(_GROUP)))
        return jobs / (time.perf_counter() - began)


async def _pace(url: str, jobs: float) -> None:
    async with (app := _app(url)).open_async():
        begin = time.monotonic()
        for n in range(int(jobs)):
            await asyncio.sleep(max(0.0, begin + n * 0.020 - time.monotonic()))
            await app.tasks["noop"].defer_async(t=time.monotonic())


async def _work(url: str, slots: float) -> None:
    global _mark  # noqa: PLW0603 - one worker per process
    _mark = Mark(os.environ["BENCH_MARKS"])
    async with (app := _app(url)).open_async():
        await app.run_worker_async(concurrency=int(slots))


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
