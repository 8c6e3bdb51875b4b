"""What a worker costs that has nothing to do: CPU of its processes, calls to its server."""

from __future__ import annotations

import time

from bench import loops
from bench.drain import preload
from bench.places import Place, PostgresStore, RedisStore, SqliteStore, Store
from bench.processes import penstock_worker
from bench.samples import OURS, Samples
from bench.size import Size

STATISTICS_LATE = 12.0  # seconds: a session that falls idle tells PostgreSQL its statistics ten later


def measure(store: Store, size: Size, samples: Samples) -> None:
    """The last of all: on PostgreSQL nothing is tidied up any more."""
    if isinstance(store, PostgresStore):
        store.stop_vacuum()
    with store.place() as place:
        loops.run(preload(place, 1))
        with penstock_worker(place, slots=10) as worker:
            worker.await_begun(1)
            time.sleep(STATISTICS_LATE if isinstance(store, PostgresStore) else 2.0)
            calls = _calls(store, place)
            cpu, began = worker.cpu_seconds(), time.monotonic()
            time.sleep(size.idle)
            seconds = time.monotonic() - began
            samples.add(OURS, "idle, CPU", 100 * (worker.cpu_seconds() - cpu) / seconds)
            if not isinstance(store, SqliteStore):
                samples.add(OURS, "idle, server calls", (_calls(store, place) - calls) / seconds)


def _calls(store: Store, place: Place) -> int:
    if isinstance(store, RedisStore):
        return store.calls()
    return store.transactions(place) if isinstance(store, PostgresStore) else 0
