"""Jobs per second on their way in."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bench.places import Place, Store
from bench.processes import ROOT
from bench.samples import OURS, Samples
from bench.size import Size


def one_by_one(store: Store, size: Size, samples: Samples) -> None:
    _measure("one_by_one", store, size, samples)


def measure(store: Store, size: Size, samples: Samples) -> None:
    for _ in range(size.turns):
        _measure("together", store, size, samples)
    _measure("sync", store, size, samples)


def _measure(verb: str, store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        for what, figure in _figures(verb, place, size).items():
            samples.add(OURS, what, figure)


def _figures(verb: str, place: Place, size: Size) -> dict[str, float]:
    """By name. In a process of its own, as the peers are."""
    command = [sys.executable, "-m", "bench.enqueueing", verb, place.url, place.schema, json.dumps(size)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
