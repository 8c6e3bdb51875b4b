"""What wake-ups cost many enqueueing clients: the same enqueue with and without NOTIFY."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

import psycopg

from bench import loops
from bench.places import Place, Store
from bench.processes import ROOT
from bench.samples import OURS, Samples
from bench.size import Size
from bench.subject import make

CLIENTS = 32
PROCESSES = 2
START = 2.0  # seconds for the clients to be ready
WITH, WITHOUT = "penstock", "silent"  # schemas
# So that a slow moment of the machine, and a table that grows, meet both.
TURNS = (WITH, WITHOUT, WITHOUT, WITH) * 2
_SILENCE = f"create or replace function {WITHOUT}.wake(queue text) returns void language sql as ''"


def measure(store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        for schema in (WITH, WITHOUT):
            loops.run(make(place.url, schema).migrate())
        with psycopg.connect(place.url, autocommit=True) as session:
            session.execute(_SILENCE)
            session.execute(f"listen penstock_{WITH}".encode())
            rates = [(schema, _rate(place, schema, size.cap)) for schema in TURNS]
    heard = median(rate for schema, rate in rates if schema == WITH)
    silent = median(rate for schema, rate in rates if schema == WITHOUT)
    samples.add(OURS, f"enqueue, {CLIENTS} clients", heard)
    samples.add(OURS, f"enqueue, {CLIENTS} clients, wake-ups on : off", heard / silent)


def _rate(place: Place, schema: str, seconds: float) -> float:
    begin_at = time.monotonic() + START
    arguments = [place.url, schema, str(CLIENTS // PROCESSES), str(begin_at), str(seconds)]
    command = [sys.executable, "-m", "bench.client", *arguments]
    clients = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    return sum(float(client.communicate()[0]) for client in clients)
