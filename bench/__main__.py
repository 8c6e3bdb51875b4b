"""`python -m bench`: each engine beside its raw limit and, with --peers, beside its peers.

Rounds interleave everything that is measured, and a figure is the median of its rounds: the machine may be
noisy, so that only the ratios inside one run count.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from bench import drain, enqueue, idle, imports, latency, raw_postgres, raw_redis, raw_sqlite, wakeups
from bench.bars import BARS
from bench.peers import measure as peers
from bench.places import ENGINES, PostgresStore, RedisStore, SqliteStore, Store, open_store
from bench.samples import Samples
from bench.size import FULL, QUICK, Size
from bench.table import show

Ours: TypeAlias = Callable[[Store, Size, Samples], None]
Theirs: TypeAlias = Callable[[peers.Peer, Store, Size, Samples], None]


def main() -> None:
    given = _arguments()
    console = Console(width=None if Console().is_terminal else 160)
    size = QUICK if given.quick else FULL
    began = time.monotonic()
    stores = [open_store(engine) for engine in given.engine or ENGINES]
    try:
        measured = _measure(stores, size, console, with_peers=given.peers)
    finally:
        for store in stores:
            store.close()
    for samples in measured:
        show(samples, console)
    console.print(
        f"{time.monotonic() - began:.0f} s on {platform.platform()}, Python {platform.python_version()}"
    )
    if given.json:
        given.json.write_text(json.dumps(_record(measured), indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this one")
    parser.add_argument("--peers", action="store_true", help="measure the peers in the same rounds")
    parser.add_argument("--quick", action="store_true", help="one small round: about two minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every round")
    return parser.parse_args()


def _measure(stores: list[Store], size: Size, console: Console, *, with_peers: bool) -> list[Samples]:
    measured = [Samples(store.name) for store in stores]
    beside = [peers.installed(s.engine, s) if with_peers else [] for s in measured]
    for number in range(1, size.rounds + 1):
        for store, samples, others in zip(stores, measured, beside, strict=True):
            console.print(f"[dim]round {number} of {size.rounds}: {store.name}[/]")
            _round(store, size, samples, others)
    for store, samples in zip(stores, measured, strict=True):
        console.print(f"[dim]an idle worker: {store.name}[/]")
        idle.measure(store, size, samples)
        imports.measure(size.imports, samples)
    return measured


def _round(store: Store, size: Size, samples: Samples, others: list[peers.Peer]) -> None:
    """Whatever is compared is measured close together: the machine's speed changes from minute to minute."""
    if isinstance(store, SqliteStore):
        raw_sqlite.measure(store, size, samples)
    if isinstance(store, PostgresStore):
        raw_postgres.measure(store, size, samples)
        wakeups.measure(store, size, samples)
    if isinstance(store, RedisStore):
        raw_redis.measure(store, size, samples)
    steps: list[tuple[Ours, Theirs]] = [
        *[(enqueue.one_by_one, peers.one_by_one)] * size.turns,
        (enqueue.measure, peers.bulk),
        (drain.measure, peers.drain),
        *[(latency.measure, peers.pick_up)] * size.turns,
    ]
    for ours, theirs in steps:
        ours(store, size, samples)
        for peer in others:
            theirs(peer, store, size, samples)


def _record(measured: list[Samples]) -> dict[str, object]:
    bars = [
        {"engine": s.engine, "what": bar.what, "bar": bar.text, "holds": bar.holds(s)}
        for s in measured
        for bar in BARS
        if bar.engine in (s.engine, "any")
    ]
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "figures": [row for s in measured for row in s.rows()],
        "bars": bars,
        "notes": [note for s in measured for note in s.notes],
    }


if __name__ == "__main__":
    main()
