"""How long `import penstock` takes, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

from bench.samples import OURS, Samples

_PROGRAM = "import time; a = time.perf_counter(); import penstock; print(time.perf_counter() - a)"


def measure(times: int, samples: Samples) -> None:
    for _ in range(times):
        told = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, check=True, text=True)
        samples.add(OURS, "import penstock", float(told.stdout) * 1_000)
