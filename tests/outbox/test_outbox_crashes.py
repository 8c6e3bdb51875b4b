"""Killed at any point, in small: `make outbox` does it fifty times, and lets relays die under load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(module: str, *options: str) -> str:
    """In a process of its own, which forks."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.chaos.{module}", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout


@pytest.mark.parametrize("home", ["postgresql", "sqlite"])
def test_killed_at_each_point_nothing_is_lost_and_nothing_is_there_twice(home: str) -> None:
    said = run("outbox_points", "--engine", home, "--times", "1", "--seed", "7")
    assert said.count("1 crashes: OK") == 5


@pytest.mark.parametrize("home", ["postgresql", "sqlite"])
def test_with_relays_killed_and_redis_away_each_order_is_charged_once(home: str) -> None:
    assert "OK: " in run("outbox", "--engine", home, "--rows", "1000", "--down", "1", "--seed", "11")
