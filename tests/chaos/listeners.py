"""500 clients hear live events, of whom 50 never read and 50 vanish; jobs run as fast as without them (F67).

Four processes: a server, a worker, the clients, and who enqueues. Latency is from the enqueueing of a job to
the start of its handler, measured with and without listeners by turns.
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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.listeners_app import app_at, serve, work
from tests.chaos.stage import ROOT

from penstock import Penstock
from penstock.runtime.child import loop_factory

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
    without: list[float] = field(default_factory=list)  # milliseconds from enqueue to start
    listening: list[float] = field(default_factory=list)
    grown: float = 0.0  # MB
    heard: int = 0  # events by those who read


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


REQUEST = b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def measure(size: Size, folder: Path, url: str | None = None) -> Found:
    url = url or f"sqlite:///{folder}/jobs.db"
    app = app_at(url)
    found = Found()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        server = await _begin(stack, "serve", url)
        await _begin(stack, "work", url)
        port = await _said(server)
        await _turn(app, size.jobs // 4)  # everything is warm
        async with _crowd(port, Size(1, 0, 0, 0, 0), app):
            before = _resident(server.pid)
        for _ in range(size.turns):
            found.without += await _turn(app, size.jobs)
            async with _crowd(port, size, app) as heard:
                found.listening += await _turn(app, size.jobs)
                found.grown = max(found.grown, _resident(server.pid) - before)
                found.heard += await heard()
    return found


@asynccontextmanager
async def _crowd(port: str, size: Size, app: Penstock) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Listeners in a process of their own, once each has heard of a job; how much they have heard."""
    async with AsyncExitStack() as stack:
        process = await _begin(stack, "crowd", port, *map(str, (size.clients, size.deaf, size.gone)))
        assert await _said(process) == "here"

        async def heard() -> int:
            assert process.stdin is not None
            process.stdin.write(b"?\n")
            return int(await _said(process))

        readers = size.clients - size.deaf - size.gone
        while True:
            before = await heard()
            await _turn(app, 1)
            await asyncio.sleep(1.0)
            if await heard() - before >= 3 * readers:
                break
        yield heard


async def be_crowd(port: str, clients: str, deaf: str, gone: str) -> None:
    crowd = Crowd(int(port), Size(int(clients), int(deaf), int(gone), 0, 0))
    await crowd.come()
    print("here", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(crowd.heard, flush=True)


async def _turn(app: Penstock, jobs: int) -> list[float]:
    """How long each job waited, in milliseconds."""
    handles = []
    for _ in range(jobs):
        handles.append(await app.tasks["touch"].aenqueue(at=time.time()))
        await asyncio.sleep(PAUSE)
    return [float(await handle.aresult(timeout=30)) for handle in handles]


async def _begin(stack: AsyncExitStack, *what: str) -> Process:
    command = [sys.executable, "-m", "tests.chaos.listeners", "--be", *what]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    stack.push_async_callback(_end, process)
    return process


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


async def _said(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()


def _resident(pid: int) -> float:
    """MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--be", nargs="+")
    parser.add_argument("--url", help="an engine other than a new SQLite file")
    asked = parser.parse_args()
    if asked.be:
        what, *rest = asked.be
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run({"serve": serve, "work": work, "crowd": be_crowd}[what](*rest))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(FULL, Path(folder), asked.url))
    without, listening = statistics.median(found.without), statistics.median(found.listening)
    print(
        f"{FULL.clients} clients, {FULL.deaf} deaf, {FULL.gone} gone: {found.heard} events heard; the server "
        f"grew by {found.grown:.1f} MB; a job waited {without:.2f} ms without them, {listening:.2f} ms with"
    )


if __name__ == "__main__":
    main()
