"""A place that alerts are sent to, and what a rule looks at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from penstock.alerts.channels import Channel

SECRET = "a secret of thirty-two characters"


class Call(NamedTuple):
    """One request that has come."""

    head: str
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def header(self, name: str) -> str:
        lines = dict(line.split(": ", 1) for line in self.head.split("\r\n")[1:] if ": " in line)
        return lines[name]


class Sink:
    """An HTTP server on this machine: keeps what it is sent, answers as it is told, or hangs."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.connections = 0
        self.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
        self.hangs = False
        self.port = 0
        self._news = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._news.set()
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(Call(head, b"").header("Content-Length"))
            self.calls.append(Call(head, await reader.readexactly(length)))
            self._news.set()
            if self.hangs:
                await reader.read()  # until the other side gives up
            writer.write(self.answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def channel(self, name: str = "ops", host: str = "127.0.0.1", **options: Any) -> Channel:
        """A webhook that leads here, allowed by name."""
        allow = options.pop("allow", ("127.0.0.1/32",))
        url = f"http://{host}:{self.port}/hook?to=ops"
        ports = frozenset({self.port})
        return Channel(name, "webhook", url, secrets=(SECRET,), allow=allow, ports=ports, **options)

    async def called(self, times: int = 1) -> list[Call]:
        """What it was sent, once there is so much."""
        async with asyncio.timeout(30):
            while len(self.calls) < times:
                self._news.clear()
                await self._news.wait()
        return self.calls


@asynccontextmanager
async def sink() -> AsyncIterator[Sink]:
    made = Sink()
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await server.wait_closed()
