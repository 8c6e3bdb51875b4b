"""A process that dies between any two writes to the ledger and to Redis: every job ends, once."""

from __future__ import annotations

import os
import secrets
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.crash_points import POINTS
from servers import RedisServer

LIFE = Path(__file__).with_name("ledger_life.py")
MAY_RUN_AGAIN = ("ledger-saving",)  # a run has ended, and nobody knows
LEDGER_POINTS = [point for point in POINTS if point.startswith("ledger-")]


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def live(env: dict[str, str], *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, LIFE, *words],
        env={**os.environ, **env, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("point", LEDGER_POINTS)
def test_a_crash_between_two_writes_loses_nothing_and_repeats_no_end(
    redis: RedisServer, tmp_path: Path, point: str
) -> None:
    env = {
        "PENSTOCK_URL": redis.url(),
        "PENSTOCK_SCHEMA": f"t_{secrets.token_hex(4)}",
        "PENSTOCK_LEDGER": f"sqlite:///{tmp_path / 'ledger.db'}",
        "LEDGER_RUNS": str(tmp_path / "runs"),
    }
    first = live(env, "enqueue", PENSTOCK_CRASH_AT=f"{point}:1")
    assert first.returncode == -signal.SIGKILL, first.stderr
    acknowledged = first.stdout.split()
    second = live(env)
    assert second.returncode == 0, second.stderr
    with sqlite3.connect(tmp_path / "ledger.db") as ledger:
        found = ledger.execute("select id, status, result_json from penstock_background_jobs").fetchall()
    ledger.close()
    rows = {job_id: (status, result) for job_id, status, result in found}
    assert set(acknowledged) <= rows.keys()
    assert len(rows) in (0, 4)  # the three and the one that follows: all were put in, or none
    assert rows == {job_id: ("completed", f'"{job_id}"') for job_id in rows}
    runs = (tmp_path / "runs").read_text().split()
    assert set(runs) == rows.keys()
    assert len(runs) <= len(rows) + (3 if point in MAY_RUN_AGAIN else 0)


def test_redis_flushed_and_killed_under_load_loses_nothing_with_workers_killed_beside_it() -> None:
    """The chaos run of `make ledger`, made small."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.ledger", "--jobs", "300", "--losses", "3", "--workers", "2"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
