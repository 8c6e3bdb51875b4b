"""Worker processes under measurement, and what the kernel knows of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import marks
from bench.places import Place

ROOT = Path(__file__).parent.parent
START_SECONDS = 30.0
STOP_SECONDS = 10.0
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Worker:
    """A process tree that works, and where its handlers leave their marks."""

    process: subprocess.Popen[bytes]
    folder: Path

    def await_begun(self, jobs: int, seconds: float = START_SECONDS) -> bool:
        """Wait until so many handlers have begun; False after `seconds`."""
        deadline = time.monotonic() + seconds
        while marks.begun(self.folder) < jobs:
            if self.process.poll() is not None:
                raise RuntimeError(f"the worker ended with {self.process.returncode}")
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def tree(self) -> list[int]:
        """The process ids, the root first."""
        found = [self.process.pid]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        return sum(_cpu_ticks(pid) for pid in self.tree()) / _TICK

    def rss_mb(self) -> list[float]:
        """Resident memory of each process, the root first."""
        return [_rss_kb(pid) / 1024 for pid in self.tree()]


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Worker]:
    """Run a worker with BENCH_MARKS naming the folder for its marks; stop it in good order."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT), **environment, "BENCH_MARKS": folder}
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            yield Worker(process, Path(folder))
        finally:
            _stop(process)


def penstock_worker(
    place: Place, *, slots: int, processes: int = 1, keep: bool = True, metrics: bool = True
) -> AbstractContextManager[Worker]:
    """A real `penstock worker`: a supervisor and its children."""
    command = [sys.executable, "-m", "penstock", "worker", "--app", "bench.worker_app:app"]
    command += ["-c", str(slots), "-p", str(processes), "--log-level", "warning"]
    environment = {
        "BENCH_URL": place.url,
        "BENCH_SCHEMA": place.schema,
        "BENCH_KEEP": "yes" if keep else "no",
        "PENSTOCK_METRICS": str(metrics).lower(),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",  # of this checkout, whichever is installed
        "PENSTOCK_ACCEPT_UNSAFE": "persistence",  # that Redis keeps nothing on disk
    }
    return running(command, environment)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    """Of one process, since it began."""
    return _cpu_ticks(pid) / _TICK


def _cpu_ticks(pid: int) -> int:
    # After the name, which may hold anything but ends at the last parenthesis: utime and stime.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _rss_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
