"""Jobs per second on their way out: from the first handler until the store holds no unfinished one."""

from __future__ import annotations

import time

from bench import loops, marks
from bench.places import Place, Store
from bench.processes import Worker, penstock_worker
from bench.samples import OURS, Samples
from bench.size import Size
from bench.subject import make, task_of

LONGEST = 8.0  # seconds
VARIANTS = (
    # slots, processes, keep, name
    (10, 1, True, "drain, 10 slots"),
    (100, 1, True, "drain, 100 slots"),
    (100, 1, False, "drain, 100 slots, not kept"),
    (100, 2, True, "drain, 2 processes"),
)


def measure(store: Store, size: Size, samples: Samples) -> None:
    for slots, processes, keep, name in VARIANTS:
        with store.place() as place:
            loops.run(preload(place, size.drained))
            with penstock_worker(place, slots=slots, processes=processes, keep=keep) as worker:
                samples.add(OURS, name, drained(worker, place, size.drained))
                if name == "drain, 100 slots":
                    supervisor, child, *_ = worker.rss_mb()
                    samples.add(OURS, "memory, worker process", child)
                    samples.add(OURS, "memory, supervisor", supervisor)


async def preload(place: Place, jobs: int) -> None:
    app = make(place.url, place.schema)
    await app.migrate()
    noop = task_of(app)
    async with app:
        await app.aenqueue_many([noop.call(t=0) for _ in range(jobs)])


def drained(worker: Worker, place: Place, jobs: int) -> float:
    """Jobs per second; where it takes too long, of those that have begun by then."""
    worker.await_begun(1)
    if not worker.await_begun(jobs, LONGEST):
        seen = marks.look(worker.folder)
        return seen.begun / (time.monotonic() - seen.first)
    first = marks.look(worker.folder).first
    while place.unfinished():
        if time.monotonic() - first > 2 * LONGEST:
            raise RuntimeError(f"all {jobs} jobs ran, but {place.url} still shows unfinished ones")
        time.sleep(0.001)
    return jobs / (time.monotonic() - first)
