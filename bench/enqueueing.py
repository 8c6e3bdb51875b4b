"""A process that enqueues and says how fast: `python -m bench.enqueueing VERB URL SCHEMA SIZE`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

from bench import loops
from bench.size import Size
from bench.subject import make, task_of
from penstock import Penstock

CALLERS = 50


async def one_by_one(app: Penstock, size: Size) -> dict[str, float]:
    noop = task_of(app)
    async with app:
        await noop.aenqueue(t=0)
        return {"enqueue": await loops.rate(lambda: noop.aenqueue(t=0), size.singles, size.cap)}


async def together(app: Penstock, size: Size) -> dict[str, float]:
    async with app:
        await task_of(app).aenqueue(t=0)
        return {f"enqueue, {CALLERS} callers": await _concurrent(app, size), **await _bulk(app, size)}


async def _concurrent(app: Penstock, size: Size) -> float:
    noop = task_of(app)
    share = loops.rate
    rates = (share(lambda: noop.aenqueue(t=0), size.bulk // CALLERS, size.cap) for _ in range(CALLERS))
    return sum(await asyncio.gather(*rates))


async def _bulk(app: Penstock, size: Size) -> dict[str, float]:
    noop = task_of(app)
    figures = {}
    began = time.perf_counter()
    await app.aenqueue_many(noop.call(t=0) for _ in range(size.bulk))
    figures["bulk"] = size.bulk / (time.perf_counter() - began)
    calls = [noop.call(t=0) for _ in range(size.bulk)]
    began = time.perf_counter()
    await app.aenqueue_many(calls)
    figures["bulk, calls made before"] = size.bulk / (time.perf_counter() - began)
    del calls
    keyed = [noop.using(key=f"{began}-{n}").call(t=0) for n in range(size.keyed)]
    began = time.perf_counter()
    await app.aenqueue_many(keyed)
    figures["bulk, given keys"] = size.keyed / (time.perf_counter() - began)
    return figures


def sync(app: Penstock, size: Size) -> dict[str, float]:
    noop = task_of(app)
    with app:
        noop.enqueue(t=0)
        return {"enqueue, sync": loops.rate_sync(lambda: noop.enqueue(t=0), size.singles, size.cap)}


def main(verb: str, url: str, schema: str, size: Size) -> dict[str, float]:
    loops.run(make(url, schema).migrate())
    app = make(url, schema)
    if verb == "sync":
        return sync(app, size)
    return loops.run({"one_by_one": one_by_one, "together": together}[verb](app, size))


if __name__ == "__main__":
    verb, url, schema, size = sys.argv[1:]
    print(json.dumps(main(verb, url, schema, Size(*json.loads(size)))))
