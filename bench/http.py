"""`make bench-http`: enqueueing over HTTP into PostgreSQL, on one core; and a kill in the middle."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from tests.servers import free_port

from bench.places import Place, open_store
from bench.processes import ROOT, START_SECONDS, cpu_seconds
from bench.subject import make
from penstock.web import Scope

CLIENTS = 50
ROUNDS = 3
SECONDS = 8.0
LEAST = 2_000  # enqueues per second
MOST = 50.0  # milliseconds, p99
MANY = 1_000_000  # waiting jobs that one owner may have: no run comes near


def main() -> int:
    store = open_store("postgres")
    try:
        with store.place() as place:
            token = asyncio.run(_prepare(place))
            held = _hold(place, token)
            kept = _survive(place, token)
    finally:
        store.close()
    return 0 if held and kept else 1


async def _prepare(place: Place) -> str:
    app = make(place.url, place.schema)
    await app.migrate()
    async with app:
        return (await app.ops.tokens.create("bench", [Scope.ENQUEUE], "ana", max_waiting=MANY)).text


def _hold(place: Place, token: str) -> bool:
    """Whether one round holds both numbers: the machine has phases in which nothing does."""
    held = False
    with _serving(place) as (server, port):
        _load(port, token, 1.0)
        for _ in range(ROUNDS):
            before = cpu_seconds(server.pid)
            told = _load(port, token, SECONDS)
            cpu = (cpu_seconds(server.pid) - before) / len(told["ids"]) * 1e6
            print(
                f"{told['rate']:,.0f} enqueues/s, p50 {told['p50_ms']:.1f} ms, p99 {told['p99_ms']:.1f} ms, "
                f"{cpu:.0f} us of CPU each, answers {told['statuses']}"
            )
            held |= told["rate"] >= LEAST and told["p99_ms"] <= MOST
    print(
        f"{'OK' if held else 'MISSED'}: >= {LEAST:,}/s with p99 <= {MOST:g} ms, {CLIENTS} clients, one core"
    )
    return held


def _survive(place: Place, token: str) -> bool:
    """Whether all that was accepted is there after the server was killed."""
    with _serving(place) as (server, port):
        loading = _start_load(port, token, SECONDS)
        time.sleep(SECONDS / 2)
        server.send_signal(signal.SIGKILL)
        told = json.loads(loading.communicate()[0])
    with psycopg.connect(place.url) as session:
        query = "select count(*) from penstock.background_jobs where id = any(%s)"
        found = session.execute(query, [told["ids"]]).fetchone()
    lost = len(told["ids"]) - (found[0] if found else 0)
    print(f"{'OK' if not lost else 'MISSED'}: killed in the middle, {lost} of {len(told['ids']):,} lost")
    return not lost


@contextmanager
def _serving(place: Place) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`penstock serve`, on the first core; whoever asks, and the database, share the others."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "penstock",
        "serve",
        "--app",
        "bench.worker_app:app",
        "--port",
        str(port),
    ]
    command += ["--rate", "none", "--address-rate", "none", "--log-level", "warning"]
    environment = {
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "BENCH_URL": place.url,
        "BENCH_SCHEMA": place.schema,
    }
    with tempfile.TemporaryDirectory() as marks:
        server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment, "BENCH_MARKS": marks})
        try:
            os.sched_setaffinity(server.pid, {min(os.sched_getaffinity(0))})
            _until_open(server, port)
            yield server, port
        finally:
            server.terminate()
            server.wait(START_SECONDS)


def _until_open(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the service did not open its port")


def _start_load(port: int, token: str, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.http_client", str(port), token, str(CLIENTS), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def _load(port: int, token: str, seconds: float) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_start_load(port, token, seconds).communicate()[0])
    return told


if __name__ == "__main__":
    sys.exit(main())
