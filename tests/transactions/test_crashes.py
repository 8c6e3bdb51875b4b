"""Workers killed once at every crash point around an effect; `make effects` does it fifty times."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import MEMORY_DISK

ROOT = Path(__file__).parents[2]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which the user of a server may write."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "redis"])
def test_every_effect_is_made_once_wherever_a_worker_dies(engine: str, open_folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos.effects", "--engine", engine, "--times", "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(open_folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
