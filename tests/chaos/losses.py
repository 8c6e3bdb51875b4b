"""What a crash of Redis loses under each persistence setting: of the server alone, and of its machine.

Jobs are enqueued one by one, and each acknowledgement is noted. Then the server is killed. For a crash of the
machine, what was not synced is cut off its file too: strace tells what was written and what was synced.
Afterwards every acknowledged job is looked for.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.chaos.stage import arguments
from tests.servers import RedisServer

from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import EngineError
from penstock.model.job import NewJob
from penstock.tasks.ids import new_id

# appendfsync -> how old an acknowledged job may be and yet be lost, seconds; None: the kernel decides
BOUNDS = {"always": 0.0, "everysec": 2.0, "no": None}
CALLERS = 4
_STARTED = re.compile(r"^(\d+) +(write|fsync|fdatasync)\(\d+<([^>]*\.incr\.aof)>")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (?:write|fsync|fdatasync) resumed>")
_RESULT = re.compile(r"= (\d+)$")


class Loss(NamedTuple):
    acknowledged: int
    lost: int
    window: float  # seconds from the oldest acknowledgement that was lost to the crash


def synced(trace: Iterable[str]) -> dict[str, int]:
    """How much of each file was surely on the disk, as strace tells it."""
    written: dict[str, int] = {}
    safe: dict[str, int] = {}
    under_way: dict[str, tuple[str, str, int]] = {}  # thread -> call, file, what was written when it began
    for line in trace:
        if started := _STARTED.match(line):
            thread, call, name = started.groups()
            under_way[thread] = call, name, written.get(name, 0)
        elif resumed := _RESUMED.match(line):
            thread = resumed[1]
        else:
            continue
        result = _RESULT.search(line)
        if result is None or thread not in under_way:
            continue
        call, name, before = under_way.pop(thread)
        if call == "write":
            written[name] = written.get(name, 0) + int(result[1])
        else:
            safe[name] = before
    return {name: safe.get(name, 0) for name in written}


class Crash:
    """One server, filled by a few callers until it is killed."""

    def __init__(self, fsync: str, *, of_the_machine: bool) -> None:
        self._machine = of_the_machine
        self._server = RedisServer(appendonly="yes", appendfsync=fsync)
        self._trace = self._server.folder / "trace"
        calls = "trace=write,fsync,fdatasync"
        if of_the_machine:
            self._server.under = ["strace", "-f", "-y", "-qq", "-s", "0", "-e", calls, "-o", str(self._trace)]
        self._acknowledged: dict[str, float] = {}

    async def run(self, seconds: float) -> Loss:
        with self._server:
            engine = RedisEngine(self._server.url())
            await engine.migrate()
            await engine.open()
            callers = [asyncio.create_task(self._enqueue(engine)) for _ in range(CALLERS)]
            await asyncio.sleep(seconds)
            pid = int(self._server.info("server")["process_id"])
            crashed = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            await asyncio.gather(*callers)
            await engine.close()
            self._server.stop("KILL")
            if self._machine:
                self._cut()
            self._server.under = []
            self._server.start()
            return self._loss(crashed)

    async def _enqueue(self, engine: RedisEngine) -> None:
        while True:
            job_id = new_id()
            try:
                await engine.enqueue([NewJob(job_id, "default", "app.work", key=job_id)])
            except EngineError:
                return
            self._acknowledged[job_id] = time.monotonic()

    def _cut(self) -> None:
        """Take away what the disk may not have had."""
        for name, size in synced(self._trace.read_text(errors="replace").splitlines()).items():
            with Path(name).open("r+b") as file:
                file.truncate(size)

    def _loss(self, crashed: float) -> Loss:
        there = {raw.hex() for raw in self._server.ask("HKEYS", "{penstock}:jobs")}
        lost = [at for job, at in self._acknowledged.items() if job.replace("-", "") not in there]
        return Loss(len(self._acknowledged), len(lost), max((crashed - at for at in lost), default=0.0))


def run(fsync: str, given: argparse.Namespace, *, of_the_machine: bool) -> bool:
    rng = random.Random(given.seed)
    losses = []
    for _ in range(given.crashes):
        crash = Crash(fsync, of_the_machine=of_the_machine)
        losses.append(asyncio.run(crash.run(rng.uniform(1.5, 4.0))))
    bound, worst = BOUNDS[fsync], max(loss.window for loss in losses)
    good = bound is None or (worst <= bound and (bound > 0 or not any(loss.lost for loss in losses)))
    print(
        f"{fsync:<9}{'OK' if good else 'VIOLATED'}: {given.crashes} crashes of the "
        f"{'machine' if of_the_machine else 'server'}, {sum(loss.acknowledged for loss in losses)} jobs "
        f"acknowledged, {sum(loss.lost for loss in losses)} lost, the oldest {worst:.2f} s before",
        flush=True,
    )
    return good


def main() -> None:
    given = arguments("what a crash of Redis loses", ("redis",), crashes=20)
    good = [run(fsync, given, of_the_machine=machine) for machine in (False, True) for fsync in BOUNDS]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
