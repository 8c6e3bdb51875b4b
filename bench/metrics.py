"""What counting costs: the same drain with metrics and without, turn about in one run.

    python -m bench.metrics [--engine NAME …] [--rounds 10] [--jobs 40000]

Exits with 1 where the median drain with metrics is more than 5 % slower than without.
"""

from __future__ import annotations

import argparse
from statistics import median

from bench import loops
from bench.drain import drained, preload
from bench.places import ENGINES, Store, open_store
from bench.processes import penstock_worker

SLOTS = 100
ALLOWED = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=40_000)
    options = parser.parse_args()
    slow = [e for e in options.engine or ENGINES if _cost(e, options.rounds, options.jobs) > ALLOWED]
    if slow:
        print(f"MISSED: metrics may cost {ALLOWED:.0%} of the drain; more on {', '.join(slow)}")
    return 1 if slow else 0


def _cost(engine: str, rounds: int, jobs: int) -> float:
    """Which share of the drain is lost by counting it."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    store = open_store(engine)
    try:
        for turn in range(rounds):
            # Who goes first changes, so that a machine that slows down or warms up favours neither.
            for counted in (True, False) if turn % 2 else (False, True):
                rates[counted].append(_drain(store, jobs, counted=counted))
    finally:
        store.close()
    with_metrics, without = median(rates[True]), median(rates[False])
    cost = 1 - with_metrics / without
    print(
        f"{engine:<9} with {_told(rates[True])}   without {_told(rates[False])}   metrics cost {cost:+.1%}",
        flush=True,
    )
    return cost


def _drain(store: Store, jobs: int, *, counted: bool) -> float:
    with store.place() as place:
        loops.run(preload(place, jobs))
        with penstock_worker(place, slots=SLOTS, metrics=counted) as worker:
            return drained(worker, place, jobs)


def _told(rates: list[float]) -> str:
    return f"{median(rates) / 1000:.1f} k/s ({min(rates) / 1000:.1f} to {max(rates) / 1000:.1f})"


if __name__ == "__main__":
    raise SystemExit(main())
