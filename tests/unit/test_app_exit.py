"""A program that ends without closing its app leaves nothing half-open behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SHOP = """
import asyncio, sys
from penstock import Penstock

app = Penstock("sqlite:///jobs.db")

@app.task
def ping() -> None: ...
"""
WAYS = {
    "sync": "ping.enqueue()",
    "async": "asyncio.run(ping.aenqueue())",
    "async, then sync": "asyncio.run(ping.aenqueue()); ping.enqueue()",
    "sync, then async": "ping.enqueue(); asyncio.run(ping.aenqueue())",
    "by sys.exit": "ping.enqueue(); sys.exit(0)",
    "read": "ping.enqueue().refresh()",
    "in a thread": "import threading; t = threading.Thread(target=ping.enqueue); t.start(); t.join()",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_end_of_the_program_closes_the_engine(tmp_path: Path, way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", SHOP + WAYS[way]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"jobs.db", "jobs.db-lock", "jobs.db-turn", "jobs.db-beats", "jobs.db-beats-lock"}
