"""Server-sent events to one client: bounded, and ended with the client, its right, or the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.feed.subscription import Heard, Resync, Subscription
from penstock.model.errors import EngineError, PenstockError
from penstock.web.refusals import Refusal, on_penstock_error

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a proxy that gathers would hold events back
}
PATIENCE = 5.0  # seconds for a client to take what was sent to it
TICK = 1.0  # seconds between looks at whether the stream may go on
HEARTBEAT = 15.0  # seconds of silence
CHUNK = 16_384  # bytes in one piece; more wait in the listener's buffer, which is bounded
RECONNECT = 3_000  # milliseconds that browsers wait before they come again

_STREAM = "penstock.stream"  # in the scope: what is left to be sent

May: TypeAlias = Callable[[], Awaitable[bool]]


class Streams:
    """Streams are sent once the framework has let go of the request: it would hold 8 KB for each client."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        stream: EventStream | None = scope.pop(_STREAM, None)
        if stream is not None:
            _forget_what_has_ended(scope)
            try:
                await stream.serve(receive, send)
            except PenstockError as error:  # before anything was sent
                response = await on_penstock_error(Request(scope), error)
                await response(scope, receive, send)


def _forget_what_has_ended(scope: Scope) -> None:
    """FastAPI leaves its exit stacks in the scope, which lives as long as the connection."""
    for name in [name for name in scope if name.startswith("fastapi_")]:
        del scope[name]


class EventStream(Response):
    """Sends the frames of `source` until they end, `may` says no, or the client or the server goes."""

    def __init__(
        self,
        listening: AbstractAsyncContextManager[Subscription],
        source: Source,
        may: May,
        seconds: float,
        seat: AbstractContextManager[None],
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._listening = listening
        self._source = source
        self._may = may
        self._seat = seat
        self._ends_at = time.monotonic() + seconds
        self._tick = min(TICK, seconds)

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        scope[_STREAM] = self

    async def serve(self, receive: Receive, send: Send) -> None:
        with self._seat:
            async with self._listening as listener:
                await self._serve(receive, send, listener)

    async def _serve(self, receive: Receive, send: Send, listener: Subscription) -> None:
        leaving = asyncio.create_task(_end_when_gone(receive, listener))
        try:
            with contextlib.suppress(TimeoutError, ClientDisconnect, OSError):
                await self._talk(_Line(self, send), listener)
        finally:
            leaving.cancel()

    async def _talk(self, line: _Line, listener: Subscription) -> None:
        await line.begin(f"retry: {RECONNECT}\n".encode() + frame("ready", {}, listener.cursor))
        with contextlib.suppress(EngineError):  # who comes again is told that it is away
            await self._say_all(line, listener)
        await line.end()

    async def _say_all(self, line: _Line, listener: Subscription) -> None:
        async for frames in self._source(listener, self._tick):
            silent = not frames and line.silent_for >= HEARTBEAT
            await line.say([b":\n\n"] if silent else frames, self._goes_on)
            if not await self._goes_on():
                return

    async def _goes_on(self) -> bool:
        over = server_is_leaving() or time.monotonic() >= self._ends_at
        return not over and await self._may()


Source: TypeAlias = Callable[[Subscription, float], AsyncIterator[list[bytes]]]


class _Line:
    """What is sent to the client, in pieces, none of which may take long."""

    def __init__(self, response: Response, send: Send) -> None:
        self._response = response
        self._send = send
        self._spoke_at = time.monotonic()

    @property
    def silent_for(self) -> float:
        return time.monotonic() - self._spoke_at

    async def begin(self, first: bytes) -> None:
        response = self._response
        await self._send(
            {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
        )
        await self._piece(first)

    async def say(self, frames: list[bytes], goes_on: May) -> None:
        """All of it, while the stream goes on: that may change while a client takes it slowly."""
        for n, piece in enumerate(_pieces(frames)):
            if n and not await goes_on():
                return
            await self._piece(piece)

    async def end(self) -> None:
        await self._piece(b"", more=False)

    async def _piece(self, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        self._spoke_at = time.monotonic()


def _pieces(frames: list[bytes]) -> Iterator[bytes]:
    piece: list[bytes] = []
    size = 0
    for each in frames:
        if piece and size + len(each) > CHUNK:
            yield b"".join(piece)
            piece, size = [], 0
        piece.append(each)
        size += len(each)
    if piece:
        yield b"".join(piece)


async def all_events(listener: Subscription, tick: float) -> AsyncIterator[list[bytes]]:
    """What the listener hears, as frames; empty now and then, so that the stream can be looked after."""
    while True:
        heard = await listener.take(tick)
        if not heard and listener.cut:
            return
        yield [frame_of(each) for each in heard]


def frame_of(heard: Heard) -> bytes:
    if isinstance(heard, Resync):
        return frame("resync", {"reason": heard.reason}, heard.cursor)
    if heard.frame is None:
        heard.frame = frame(heard.event.event, heard.data, heard.cursor)
    return heard.frame


def frame(event: str, data: Mapping[str, Any], cursor: str | None = None) -> bytes:
    text = json.dumps(data, separators=(",", ":"))
    place = "" if cursor is None else f"id: {cursor}\n"
    return f"{place}event: {event}\ndata: {text}\n\n".encode()


def server_is_leaving() -> bool:
    """Whether the server waits for its connections to end: uvicorn tells that to nobody.

    While it runs, the handler of SIGTERM is a method of the server.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return bool(getattr(server, "should_exit", False))


async def _end_when_gone(receive: Receive, listener: Subscription) -> None:
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Refusal:
        pass  # it sends what nobody asked for; it is over all the same
    finally:
        listener.end()
