"""One process full of enqueueing clients, each with an engine of its own: `python -m bench.client URL …`."""

from __future__ import annotations

import asyncio
import sys
import time

from bench import loops
from penstock.engines.postgres.engine import PostgresEngine
from penstock.model.job import NewJob
from penstock.tasks.ids import new_id


async def main(url: str, schema: str, clients: int, begin_at: float, seconds: float) -> float:
    """Jobs per second of all clients together, one commit each, from a moment on that others know too."""
    engines = [PostgresEngine(url, schema=schema, pool_size=1) for _ in range(clients)]
    for engine in engines:
        await engine.open()
        await engine.enqueue([_job()])
    await asyncio.sleep(max(0.0, begin_at - time.monotonic()))
    rates = await asyncio.gather(*(_rate(engine, seconds) for engine in engines))
    for engine in engines:
        await engine.close()
    return sum(rates)


async def _rate(engine: PostgresEngine, seconds: float) -> float:
    return await loops.rate(lambda: engine.enqueue([_job()]), 1_000_000, seconds)


def _job() -> NewJob:
    job_id = new_id()
    return NewJob(job_id, "bench", "noop", '{"t":0}', job_id)


if __name__ == "__main__":
    url, schema, clients, begin_at, seconds = sys.argv[1:]
    print(loops.run(main(url, schema, int(clients), float(begin_at), float(seconds))))
