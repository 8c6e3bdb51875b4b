"""HTTP on a socket, with bounds on what comes before a request is one: uvicorn has none with httptools."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MAX_HEAD = 32_768  # bytes from the method to the blank line; also of what follows a body
HEAD_SECONDS = 10.0


class BoundedHttp(HttpToolsProtocol):
    """Ends connections whose headers are too long, or too long in coming, and those that are too many."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._came = 0  # bytes since the last request, or the last piece of a body
        self._since: float | None = None  # when a request began to come; None while one is under way
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._refuse(503)
            return
        self._since = self.loop.time()
        self._look = self.loop.call_later(self.head_seconds, self._look_whether_it_came)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._came += len(data)
        if self._since is None and (self.cycle is None or self.cycle.response_complete):
            self._since = self.loop.time()
        super().data_received(data)
        if self._came > MAX_HEAD:
            self._refuse(431)

    def on_headers_complete(self) -> None:
        if self._came > MAX_HEAD and self._head_size() > MAX_HEAD:
            raise _TooLongError
        self._came = 0
        self._since = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._came = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._came = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._came > MAX_HEAD:
            self._refuse(431)
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _look_whether_it_came(self) -> None:
        now, wait = self.loop.time(), self.head_seconds
        if self._since is not None:
            wait = self._since + self.head_seconds - now
        if wait > 0:
            self._look = self.loop.call_later(wait, self._look_whether_it_came)
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        if self.transport.is_closing():
            return
        # Not into the midst of an answer.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()


class _TooLongError(Exception):
    """Ends the parser's work."""
