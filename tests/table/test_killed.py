"""Instances that are killed at work: each row has one output all the same. `make own-table` at full size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_each_row_has_one_output_although_instances_are_killed(engine: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.chaos.own_table", engine, "--seed", "7"]
    command += ["--rows", "400", "--instances", "3", "--every", "0.5", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
