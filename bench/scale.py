"""`python -m bench.scale`: how long a claim takes beside millions of jobs, and behind what cannot run."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from bench import loops, scale_load
from bench.places import Place, Store, open_store
from bench.subject import QUEUE, make, task_of
from penstock.engine import Engine, Want, WorkerInfo
from penstock.opening import open_engine

ENGINES = ("sqlite", "postgres")
BAR = 1.5
LEASE = 3_600.0
EMPTY, FULL, PARKED = "empty", "beside millions", "behind parked"


class Size(NamedTuple):
    waiting: int
    finished: int
    parked: int
    claims: dict[int, int]  # how many claims of how many jobs


LARGE = Size(1_000_000, 5_000_000, 1_000_000, {1: 400, 100: 60})
SMALL = Size(100_000, 500_000, 100_000, {1: 100, 100: 20})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this one")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    console = Console()
    size = SMALL if given.quick else LARGE
    figures = []
    for engine in given.engine or ENGINES:
        store = open_store(engine)
        try:
            figures += _measure(store, size, console)
        finally:
            store.close()
    _show(figures, size, console)
    if given.json:
        given.json.write_text(json.dumps([figure._asdict() for figure in figures], indent=1))


class Figure(NamedTuple):
    engine: str
    k: int  # jobs in one claim
    store: str
    ms: float  # the median


def _measure(store: Store, size: Size, console: Console) -> list[Figure]:
    with ExitStack() as stack:
        places = {name: stack.enter_context(store.place()) for name in (EMPTY, FULL, PARKED)}
        needed = sum(k * times for k, times in size.claims.items())
        for name, place in places.items():
            began = time.monotonic()
            loops.run(_fill(place, needed))
            if name == FULL:
                scale_load.waiting(place, size.waiting)
                scale_load.finished(place, size.finished)
            if name == PARKED:
                scale_load.parked(place, size.parked)
            scale_load.settle_down(place)
            console.print(f"[dim]{store.name}, {name}: loaded in {time.monotonic() - began:.0f} s[/]")
        return loops.run(_claim(store.name, places, size))


async def _fill(place: Place, jobs: int) -> None:
    app = make(place.url, place.schema)
    await app.migrate()
    noop = task_of(app)
    async with app:
        await app.aenqueue_many([noop.call(t=0) for _ in range(jobs)])


async def _claim(engine_name: str, places: dict[str, Place], size: Size) -> list[Figure]:
    """Claims in turn from each store, so that a slow moment of the machine meets all."""
    engines = {name: await open_engine(place.url, place.schema) for name, place in places.items()}
    figures = []
    try:
        for engine in engines.values():
            await engine.register(WorkerInfo(id="bench", name="bench", queues=(QUEUE,), slots=100), LEASE)
        for k, times in size.claims.items():
            taken: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(times):
                for name, engine in engines.items():
                    taken[name].append(await _timed(engine, k))
            figures += [Figure(engine_name, k, name, median(ms)) for name, ms in taken.items()]
    finally:
        for engine in engines.values():
            await engine.close()
    return figures


async def _timed(engine: Engine, k: int) -> float:
    want = Want("bench", uuid4().hex, {QUEUE: k}, k, {"noop": "as declared"}, k)
    began = time.perf_counter()
    claims = (await engine.claim(want)).claims
    ms = (time.perf_counter() - began) * 1_000
    if len(claims) != k:
        raise RuntimeError(f"wanted {k} jobs, got {len(claims)}")
    return ms


def _show(figures: list[Figure], size: Size, console: Console) -> None:
    title = (
        f"one claim, median ms; {FULL}: {size.waiting:,} waiting and {size.finished:,} finished; "
        f"{PARKED}: {size.parked:,} that cannot run"
    )
    table = Table(title=title, title_justify="left")
    for column in ("engine", "jobs per claim", EMPTY, FULL, "ratio", PARKED, "ratio", f"bar ≤ {BAR:g}×"):
        table.add_column(column, justify="right")
    by = {(f.engine, f.k, f.store): f.ms for f in figures}
    for engine, k in dict.fromkeys((f.engine, f.k) for f in figures):
        empty, full, parked = (by[engine, k, store] for store in (EMPTY, FULL, PARKED))
        ratios = full / empty, parked / empty
        word = "[green]holds[/]" if max(ratios) <= BAR else "[red]misses[/]"
        cells = f"{empty:.2f}", f"{full:.2f}", f"{ratios[0]:.2f}×", f"{parked:.2f}", f"{ratios[1]:.2f}×"
        table.add_row(engine, str(k), *cells, word)
    console.print(table)


if __name__ == "__main__":
    main()
