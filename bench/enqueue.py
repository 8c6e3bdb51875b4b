"""Jobs per second on their way in."""

from __future__ import annotations

import asyncio
import time

from bench import loops
from bench.places import Place, Store
from bench.samples import OURS, Samples
from bench.size import Size
from bench.subject import make, task_of
from penstock import Penstock

CALLERS = 50


def one_by_one(store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        loops.run(_migrated(place))
        samples.add(OURS, "enqueue", loops.run(_one_by_one(place, size)))


def measure(store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        loops.run(_migrated(place))
        loops.run(_many(place, size, samples))
        samples.add(OURS, "enqueue, sync", _sync(place, size))


async def _migrated(place: Place) -> None:
    await make(place.url, place.schema).migrate()


async def _one_by_one(place: Place, size: Size) -> float:
    app = make(place.url, place.schema)
    noop = task_of(app)
    async with app:
        await noop.aenqueue(t=0)
        return await loops.rate(lambda: noop.aenqueue(t=0), size.singles, size.cap)


async def _many(place: Place, size: Size, samples: Samples) -> None:
    app = make(place.url, place.schema)
    async with app:
        await task_of(app).aenqueue(t=0)
        samples.add(OURS, f"enqueue, {CALLERS} callers", await _concurrent(app, size))
        await _bulk(app, size, samples)


async def _concurrent(app: Penstock, size: Size) -> float:
    noop = task_of(app)
    share = loops.rate
    rates = (share(lambda: noop.aenqueue(t=0), size.bulk // CALLERS, size.cap) for _ in range(CALLERS))
    return sum(await asyncio.gather(*rates))


async def _bulk(app: Penstock, size: Size, samples: Samples) -> None:
    noop = task_of(app)
    began = time.perf_counter()
    await app.aenqueue_many(noop.call(t=0) for _ in range(size.bulk))
    samples.add(OURS, "bulk", size.bulk / (time.perf_counter() - began))
    calls = [noop.call(t=0) for _ in range(size.bulk)]
    began = time.perf_counter()
    await app.aenqueue_many(calls)
    samples.add(OURS, "bulk, calls made before", size.bulk / (time.perf_counter() - began))
    del calls
    keyed = [noop.using(key=f"{began}-{n}").call(t=0) for n in range(size.keyed)]
    began = time.perf_counter()
    await app.aenqueue_many(keyed)
    samples.add(OURS, "bulk, given keys", size.keyed / (time.perf_counter() - began))


def _sync(place: Place, size: Size) -> float:
    app = make(place.url, place.schema)
    noop = task_of(app)
    with app:
        noop.enqueue(t=0)
        return loops.rate_sync(lambda: noop.enqueue(t=0), size.singles, size.cap)
