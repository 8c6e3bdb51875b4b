"""Workers killed once at every crash point around an effect; `make effects` does it fifty times."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "redis"])
def test_every_effect_is_made_once_wherever_a_worker_dies(engine: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos.effects", "--engine", engine, "--times", "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
