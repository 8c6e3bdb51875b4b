"""The peers by the same method, each run from a virtualenv that holds nothing of ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench import latency, marks
from bench.drain import drained
from bench.places import Place, Store
from bench.processes import ROOT, Worker, running
from bench.samples import Samples
from bench.size import Size

HOME = ROOT / ".bench" / "venv"
NODE_HOME = ROOT / ".bench" / "node"
PYTHON = str(HOME / "bin" / "python")


@dataclass(frozen=True)
class Peer:
    name: str
    engine: str
    packages: tuple[str, ...]
    probe: str  # SQL: a row while a job is unfinished; Lua on Redis: not 0 while one is
    node: bool = False  # packages from npm, and a script for Node


PEERS = (
    Peer("pgqueuer", "postgres", ("pgqueuer", "asyncpg", "uvloop"), "select 1 from pgqueuer limit 1"),
    Peer(
        "procrastinate", "postgres", ("procrastinate", "psycopg[binary,pool]", "uvloop"),
        "select 1 from procrastinate_jobs where status in ('todo', 'doing') limit 1",
    ),
    Peer(
        "bullmq", "redis", ("bullmq", "ioredis"),
        "return redis.call('LLEN', 'bull:bench:wait') + redis.call('LLEN', 'bull:bench:active')", node=True,
    ),
    Peer(
        "dramatiq", "redis", ("dramatiq[redis]", "hiredis"),
        "return redis.call('HLEN', 'dramatiq:default.msgs')",
    ),
    Peer("arq", "redis", ("arq", "hiredis", "uvloop"), "return redis.call('ZCARD', 'arq:queue')"),
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
        if why := _install(peer):
            samples.notes.append(f"{peer.name} could not be installed: {why}")
        else:
            found.append(peer)
    return found


def _install(peer: Peer) -> str | None:
    """Why it could not be done."""
    command = [*_uv(), "pip", "install", "--quiet", "--python", PYTHON, *peer.packages]
    if peer.node:
        if shutil.which("npm") is None:
            return "npm is not here"
        NODE_HOME.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(NODE_HOME), "--no-audit", "--no-fund", *peer.packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or ["no reason was given"])[-1].strip()


def one_by_one(peer: Peer, store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        _call(peer, place, "prepare")
        samples.add(peer.name, "enqueue", _call(peer, place, "enqueue", size.singles, size.cap))


def bulk(peer: Peer, store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        _call(peer, place, "prepare")
        samples.add(peer.name, "bulk", _call(peer, place, "bulk", min(size.drained, size.bulk)))


def drain(peer: Peer, store: Store, size: Size, samples: Samples) -> None:
    preload = min(size.drained, size.bulk)
    for slots in (10, 100):
        with store.place() as fresh:
            _call(peer, fresh, "prepare")
            _call(peer, fresh, "bulk", preload)
            with _working(peer, fresh, slots) as worker:
                place = Place(fresh.url, fresh.schema, peer.probe)
                samples.add(peer.name, f"drain, {slots} slots", drained(worker, place, preload))


def pick_up(peer: Peer, store: Store, size: Size, samples: Samples) -> None:
    with store.place() as place:
        _call(peer, place, "prepare")
        with _working(peer, place, 10) as worker:
            _call(peer, place, "pace", size.picked_up)
            worker.await_begun(size.picked_up, 10.0)
            latency.add(samples, peer.name, marks.look(worker.folder).waits)


def _working(peer: Peer, place: Place, slots: int) -> AbstractContextManager[Worker]:
    return running([*_script(peer), "work", place.url, str(slots)], _environment(peer))


def _call(peer: Peer, place: Place, verb: str, *numbers: float) -> float:
    """Run a verb of the peer's script; its figure, of those that have one."""
    command = [*_script(peer), verb, place.url, *map(str, numbers)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **_environment(peer)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer.name} {verb}: {done.stderr[-2000:]}")
    figure: float | None = json.loads(done.stdout)
    return figure or 0.0


def _script(peer: Peer) -> list[str]:
    if peer.node:
        return ["node", str(Path(__file__).parent / f"{peer.name}.cjs")]
    return [PYTHON, "-m", f"bench.peers.{peer.name}"]


def _environment(peer: Peer) -> dict[str, str]:
    return {"NODE_PATH": str(NODE_HOME / "node_modules")} if peer.node else {}


def _uv() -> list[str]:
    return [sys.executable, "-m", "uv"] if find_spec("uv") else ["uv"]
