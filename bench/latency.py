"""How long a job waits on an idle system, from just before its enqueue until its handler begins."""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles

from bench import loops, marks
from bench.drain import preload
from bench.places import Place, Store
from bench.processes import penstock_worker
from bench.samples import OURS, Samples
from bench.size import Size
from bench.subject import make, task_of

EVERY = 0.020  # seconds


def measure(store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        loops.run(preload(place, 1))
        with penstock_worker(place, slots=10) as worker:
            worker.await_begun(1)
            time.sleep(0.5)
            loops.run(_send(place, size.picked_up))
            worker.await_begun(1 + size.picked_up, 10.0)
            add(samples, OURS, marks.look(worker.folder).waits)


def add(samples: Samples, who: str, waits: list[float]) -> None:
    samples.add(who, "pick-up, p50", median(waits) * 1_000)
    samples.add(who, "pick-up, p99", quantiles(waits, n=100)[98] * 1_000)


async def _send(place: Place, jobs: int) -> None:
    app = make(place.url, place.schema)
    noop = task_of(app)
    async with app:
        begin = time.monotonic()
        for n in range(jobs):
            await asyncio.sleep(max(0.0, begin + n * EVERY - time.monotonic()))
            await noop.aenqueue(t=time.monotonic())
