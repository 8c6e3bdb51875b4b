"""What the chaos runs take for a death."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from queue import Queue
from typing import Any

from chaos.witness import LINE, Witness

HOLDS = """
import time
from chaos.witness import hold_line
hold_line()
print("holds", flush=True)
time.sleep(60)
"""


def test_who_holds_a_line_is_seen_to_die_though_nobody_watched_it(tmp_path: Path):
    seen: Queue[dict[str, Any]] = Queue()

    def note(f: str, **more: Any) -> float:
        seen.put({"f": f, **more})
        return 0.0

    door = tmp_path / "witness"
    with Witness(note, list, door):
        env = {LINE: str(door), "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen([sys.executable, "-c", HOLDS], env=env, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"holds\n"
            assert seen.empty()
            process.send_signal(signal.SIGKILL)
            assert seen.get(timeout=10) == {"f": "dead", "pid": process.pid}
