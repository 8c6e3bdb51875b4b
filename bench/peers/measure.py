"""The peers by the same method, each run from a virtualenv that holds nothing of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec

from bench import latency, marks
from bench.drain import drained
from bench.places import Place, Store
from bench.processes import ROOT, Worker, running
from bench.samples import Samples
from bench.size import Size

HOME = ROOT / ".bench" / "venv"
PYTHON = str(HOME / "bin" / "python")


@dataclass(frozen=True)
class Peer:
    name: str
    engine: str
    packages: tuple[str, ...]
    probe: str  # SQL: a row while a job is unfinished


PEERS = (
    Peer("pgqueuer", "postgres", ("pgqueuer", "asyncpg", "uvloop"), "select 1 from pgqueuer limit 1"),
    Peer(
        "procrastinate", "postgres", ("procrastinate", "psycopg[binary,pool]", "uvloop"),
        "select 1 from procrastinate_jobs where status in ('todo', 'doing') limit 1",
    ),
    Peer("huey", "sqlite", ("huey",), "select 1 from task limit 1"),
    Peer("litequeue", "sqlite", ("litequeue",), "select 1 from Queue where status in (0, 1) limit 1"),
)  # fmt: skip


def installed(engine: str, samples: Samples) -> list[Peer]:
    """The peers of an engine; of those that cannot be installed the reason is noted."""
    if not HOME.exists():
        subprocess.run([*_uv(), "venv", "--quiet", "--python", sys.executable, str(HOME)], check=True)
    found = []
    for peer in PEERS:
        if peer.engine != engine:
            continue
        command = [*_uv(), "pip", "install", "--quiet", "--python", PYTHON, *peer.packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = done.stderr.strip().splitlines() or ["no reason was given"]
            samples.notes.append(f"{peer.name} could not be installed: {why[-1].strip()}")
        else:
            found.append(peer)
    return found


def measure(peer: Peer, store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        _call(peer, place, "prepare")
        samples.add(peer.name, "enqueue", _call(peer, place, "enqueue", size.singles, size.cap))
        preload = min(size.drained, size.bulk)
        samples.add(peer.name, "bulk", _call(peer, place, "bulk", preload))
    for slots in (10, 100):
        with store.place() as fresh:
            _call(peer, fresh, "prepare")
            _call(peer, fresh, "bulk", preload)
            with _working(peer, fresh, slots) as worker:
                place = Place(fresh.url, fresh.schema, peer.probe)
                samples.add(peer.name, f"drain, {slots} slots", drained(worker, place, preload))
    with store.place() as place:
        _call(peer, place, "prepare")
        with _working(peer, place, 10) as worker:
            _call(peer, place, "pace", size.picked_up)
            worker.await_begun(size.picked_up, 10.0)
            latency.add(samples, peer.name, marks.look(worker.folder).waits)


def _working(peer: Peer, place: Place, slots: int) -> AbstractContextManager[Worker]:
    return running([PYTHON, "-m", f"bench.peers.{peer.name}", "work", place.url, str(slots)], {})


def _call(peer: Peer, place: Place, verb: str, *numbers: float) -> float:
    """Run a verb of the peer's script; its figure, of those that have one."""
    command = [PYTHON, "-m", f"bench.peers.{peer.name}", verb, place.url, *map(str, numbers)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer.name} {verb}: {done.stderr[-2000:]}")
    figure: float | None = json.loads(done.stdout)
    return figure or 0.0


def _uv() -> list[str]:
    return [sys.executable, "-m", "uv"] if find_spec("uv") else ["uv"]
