"""Every chaos run that kills, cuts or crowds, at its full size, one after the other."""

from __future__ import annotations

import subprocess
import sys

RUNS = (
    "kills",
    "zombies",
    "restarts",
    "cuts",
    "losses",
    "contention",
    "control",
    "schedules",
    "outbox",
    "outbox_points",
    "ledger",
    "ledger_points",
    "effects",
    "own_table",
)


def main() -> None:
    """Arguments such as --seed go to each of them."""
    codes = {name: _run(name) for name in RUNS}
    print("  ".join(f"{name} {'OK' if code == 0 else 'FAILED'}" for name, code in codes.items()))
    sys.exit(1 if any(codes.values()) else 0)


def _run(name: str) -> int:
    command = [sys.executable, "-m", f"tests.chaos.{name}", *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    main()
