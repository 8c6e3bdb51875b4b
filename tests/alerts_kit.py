"""A place that alerts are sent to, and what a rule looks at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from penstock import Penstock
from penstock.alerts.channels import Channel, Notice
from penstock.alerts.config import Alerting
from penstock.alerts.loading import parse
from penstock.alerts.watch import AlertWatch
from penstock.alerts.webhook import NotTaken, post
from penstock.model.clock import FakeClock

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


async def post_here(channel: Channel, notice: Notice) -> str | None:
    """Send from this process, which takes no time to start."""
    try:
        await post(channel, notice.json())
    except NotTaken as problem:
        return str(problem)
    return None


class Looking:
    """A watch over an app whose time stands still, and the place that it tells."""

    def __init__(self, app: Penstock, sink: Sink, clock: FakeClock) -> None:
        self.app, self.sink, self.clock = app, sink, clock
        self.alerting = Alerting(channels={"ops": sink.channel()})
        self._watch: AlertWatch | None = None

    @property
    def watch(self) -> AlertWatch:
        if self._watch is None:
            self._watch = self.another("watcher-1")
        return self._watch

    def another(self, holder: str, send: Any = post_here) -> AlertWatch:
        return AlertWatch(self.app.engine, self.app.registry, self.alerting, holder, send)

    def over(self, yaml: str) -> None:
        """With what this penstock.yaml says, and the same channel."""
        self.alerting = replace(parse(yaml), channels={"ops": self.sink.channel()})

    async def look(self, after: float = 0.0) -> list[str]:
        """Look once, so many seconds later; what was told then, a line for each alert."""
        before = len(self.sink.calls)
        self.clock.advance(after)
        assert await self.watch.round()
        await self.watch.sender.idle()
        await self.watch.hear()
        return [line for call in self.sink.calls[before:] for line in call.json["text"].split("\n")]

    async def until_over(self) -> list[str]:
        """What is told once nothing is wrong any more."""
        told = await self.look(120)
        return told + await self.look(60) + await self.look(60)
