"""500 clients hear live events, of whom 50 never read and 50 vanish; jobs run as fast as without them (F67).

Three processes: a server, a worker, and the clients. Latency is from the enqueueing of a job to the start of
its handler, measured with and without listeners by turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.listeners_app import app_at, serve, work
from tests.chaos.stage import ROOT

from penstock import Penstock

PAUSE = 0.02  # seconds between jobs
RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Size:
    clients: int
    deaf: int
    gone: int
    jobs: int  # in each turn
    turns: int


FULL = Size(500, 50, 50, 400, 4)
SMALL = Size(50, 10, 10, 30, 1)  # for the test suite


@dataclass
class Found:
    without: float  # median milliseconds from enqueue to start
    listening: float
    grown: float  # MB
    heard: int  # events by those who read


class Crowd:
    """The clients. Those who read count events; the deaf read nothing; the gone have gone without a word."""

    def __init__(self, port: int, size: Size) -> None:
        self._port = port
        self._size = size
        self._deaf: list[socket.socket] = []
        self._readers: list[asyncio.Task[None]] = []
        self.heard = 0

    async def come(self) -> None:
        size = self._size
        for _ in range(size.deaf):
            self._deaf.append(self._ask())
        for _ in range(size.gone):
            line = self._ask()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            line.close()
        for _ in range(size.clients - size.deaf - size.gone):
            self._readers.append(asyncio.create_task(self._read()))
        await self._until_heard(len(self._readers))

    async def _until_heard(self, more: int) -> None:
        enough = self.heard + more
        async with asyncio.timeout(30):
            while self.heard < enough:
                await asyncio.sleep(0.02)

    async def hears(self, app: Penstock) -> bool:
        """Whether everybody knows by now that somebody listens: then each of them hears of a job."""
        before = self.heard
        await _turn(app, 1)
        await asyncio.sleep(1.0)
        return self.heard - before >= 3 * len(self._readers)

    def _ask(self) -> socket.socket:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.connect(("127.0.0.1", self._port))
        line.sendall(REQUEST)
        return line

    async def _read(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(REQUEST)
        try:
            while piece := await reader.read(65_536):
                self.heard += piece.count(b"event: ")
        finally:
            writer.close()

    async def go(self) -> None:
        for reader in self._readers:
            reader.cancel()
        await asyncio.wait(self._readers)
        for line in self._deaf:
            line.close()
        self._readers, self._deaf = [], []


REQUEST = b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def measure(size: Size, folder: Path, url: str | None = None) -> Found:
    url = url or f"sqlite:///{folder}/jobs.db"
    app = app_at(url)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        server = await _begin(stack, "serve", url)
        await _begin(stack, "work", url)
        port = int(await _said(server))
        crowd = Crowd(port, size)
        await _turn(app, size.jobs // 4)  # everything is warm
        await crowd.come()
        await _turn(app, size.jobs // 4)
        await crowd.go()
        before = _resident(server.pid)
        without, listening, grown = [], [], 0.0
        for _ in range(size.turns):
            without += await _turn(app, size.jobs)
            await crowd.come()
            while not await crowd.hears(app):
                pass
            listening += await _turn(app, size.jobs)
            grown = max(grown, _resident(server.pid) - before)
            await crowd.go()
        return Found(statistics.median(without), statistics.median(listening), grown, crowd.heard)


async def _turn(app: Penstock, jobs: int) -> list[float]:
    """How long each job waited, in milliseconds."""
    handles = []
    for _ in range(jobs):
        handles.append(await app.tasks["touch"].aenqueue(at=time.time()))
        await asyncio.sleep(PAUSE)
    return [float(await handle.aresult(timeout=30)) for handle in handles]


async def _begin(stack: AsyncExitStack, what: str, url: str) -> Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.chaos.listeners", "--be", what, "--url", url, cwd=ROOT, stdout=PIPE
    )
    stack.push_async_callback(_end, process)
    return process


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


async def _said(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 30)).decode()


def _resident(pid: int) -> float:
    """MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--be", choices=["serve", "work"])
    parser.add_argument("--url")
    asked = parser.parse_args()
    if asked.be:
        asyncio.run((serve if asked.be == "serve" else work)(asked.url))
        return
    size = FULL
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(size, Path(folder), asked.url))
    print(
        f"{size.clients} clients, {size.deaf} deaf, {size.gone} gone: {found.heard} events heard; the server "
        f"grew by {found.grown:.1f} MB; a job waited {found.without:.2f} ms without them, "
        f"{found.listening:.2f} ms with them"
    )


if __name__ == "__main__":
    main()
