"""A TCP proxy before a server that can swallow an answer and hang up: done, and nobody was told."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self

import hiredis

_BLOCK = 65_536

Matches = Callable[[bytes], bool]


def postgres_done(answer: bytes) -> bool:
    """ReadyForQuery in the idle state: the server has committed whatever it was asked for."""
    return answer.endswith(b"Z\x00\x00\x00\x05I")


def redis_done(answer: bytes) -> bool:
    """Whole replies, and nothing of the next."""
    reader = hiredis.Reader()
    reader.feed(answer)
    while reader.gets() is not False:
        pass
    return not reader.has_data()


class Proxy:
    """Runs on a thread with a loop of its own. `arm` it to cut the next answers that match."""

    def __init__(self, host: str, port: int, done: Matches = postgres_done) -> None:
        self._target = (host, port)
        self.done = done
        self._asks: Matches | None = None
        self._answers: Matches | None = None
        self._left = 0
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._stop = asyncio.Event()
        self.cut: list[bytes] = []  # the answers that nobody got
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        ready: Future[int] = Future()
        self._serving = asyncio.run_coroutine_threadsafe(self._serve(ready), self._loop)
        self.port = ready.result(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._serving.result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, url: str) -> str:
        """The same database, reached through here."""
        host, port = self._target
        return url.replace(f"{host}:{port}", f"127.0.0.1:{self.port}")

    def arm(self, asks: Matches, answers: Matches, times: int) -> None:
        """Cut the next `times` answers that match, to questions that match."""
        with self._lock:
            self._asks, self._answers, self._left = asks, answers, times

    def holds(self, asked: bytes) -> bool:
        """Whether the answer to this may be one to swallow, and must not be passed on in parts."""
        return self._left > 0 and self._asks is not None and self._asks(asked)

    async def _serve(self, ready: Future[int]) -> None:
        server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        ready.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        everybody = asyncio.all_tasks() - {asyncio.current_task()}
        for task in everybody:
            task.cancel()
        await asyncio.gather(*everybody, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream, server = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        with contextlib.suppress(asyncio.CancelledError):
            await _Line(self, reader, writer, upstream, server).carry()

    def take(self, asked: bytes, answer: bytes) -> bool:
        """Whether this answer is swallowed."""
        with self._lock:
            if not self.holds(asked) or self._answers is None or not self._answers(answer):
                return False
            self._left -= 1
            self.cut.append(answer)
            return True


class _Line:
    """One connection."""

    def __init__(
        self,
        proxy: Proxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._reader, self._writer = reader, writer
        self._upstream, self._server = upstream, server
        self._asked = b""

    async def carry(self) -> None:
        ways = [asyncio.create_task(self._ask()), asyncio.create_task(self._answer())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for end in (self._writer, self._server):
                end.transport.abort()

    async def _ask(self) -> None:
        with contextlib.suppress(ConnectionError):
            while block := await self._reader.read(_BLOCK):
                self._asked += block
                self._server.write(block)
                await self._server.drain()

    async def _answer(self) -> None:
        answer = b""
        with contextlib.suppress(ConnectionError):
            while block := await self._upstream.read(_BLOCK):
                answer += block
                if self._proxy.done(answer):
                    if self._proxy.take(self._asked, answer):
                        return
                    self._asked = b""
                elif self._proxy.holds(self._asked):
                    continue
                self._writer.write(answer)
                await self._writer.drain()
                answer = b""
