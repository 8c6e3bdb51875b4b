"""Without the driver: what to install is said, wherever the database is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules['psycopg'] = None; import asyncio; from penstock import Penstock; "
URL = "postgresql://localhost/shop"


@pytest.mark.parametrize(
    "use",
    [
        f"asyncio.run(Penstock('redis://localhost', outbox='{URL}').outbox.apply())",
        f"asyncio.run(Penstock('redis://localhost', outbox='{URL}').outbox.status())",
        f"Penstock('redis://localhost', ledger='{URL}').open()",
        f"sys.argv = ['penstock', 'effects', 'apply', '--database', '{URL}']; "
        "from penstock.cli.main import main; main()",
    ],
)
def test_a_missing_driver_is_told_with_the_command_that_installs_it(use: str) -> None:
    said = subprocess.run([sys.executable, "-c", WITHOUT + use], capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert "MissingExtra" in said.stderr
    assert 'pip install "penstock[postgres]"' in " ".join(said.stderr.split())
