"""Crash points: a process dies where a test has said, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PASSES = """
import sys
from penstock import crash_points
for point in sys.argv[1:]:
    crash_points.passing(point)
    print(point, flush=True)
"""


def run(variable: str | None, *points: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "PENSTOCK_CRASH_AT"}
    if variable is not None:
        env["PENSTOCK_CRASH_AT"] = variable
    command = [sys.executable, "-c", PASSES, *points]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_process_is_killed_when_it_passes_for_the_nth_time() -> None:
    ended = run("settled:2", "settled", "settling", "settled", "settling")
    assert (ended.returncode, ended.stdout.split()) == (-signal.SIGKILL, ["settled", "settling"])


@pytest.mark.parametrize("variable", [None, "", "settled:3", "settling:0"])
def test_else_nothing_happens(variable: str | None) -> None:
    ended = run(variable, "settled", "settled")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("variable", ["nowhere:1", "settled", "settled:x"])
def test_a_point_that_does_not_exist_is_named(variable: str) -> None:
    ended = run(variable, "settled")
    assert ended.returncode == 1
    assert "transaction-committed" in ended.stderr
