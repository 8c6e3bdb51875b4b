"""One connection: frames out, replies in, in the same order. Several callers may share it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from contextlib import suppress
from typing import Any, cast

import hiredis

_RESET = struct.pack("ii", 1, 0)  # linger for nothing: what was not sent yet never will be


class ServerError(Exception):
    """The server answered with an error; its first word says which."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class Lost(Exception):
    """The connection ended before the answer came."""


def frame(*words: bytes | str | int) -> bytes:
    """A command as it goes over the wire."""
    packed: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]  # its types allow one word only
    return packed


def begun(command: bytes, more: int) -> bytes:
    """A command to which that many words are still to be added."""
    count, _, words = command.partition(b"\r\n")
    return b"*%d\r\n%b" % (int(count[1:]) + more, words)


class Wire(asyncio.Protocol):
    """Touched by one event loop only. A caller that gives up harms nobody: its answer goes to no one."""

    def __init__(self, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._reader = hiredis.Reader(replyError=ServerError)
        self._asked: deque[tuple[asyncio.Future[Any], float]] = deque()  # and when
        self._watching: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self.ended: asyncio.Future[None] = self._loop.create_future()

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def call(self, frame: bytes) -> asyncio.Future[Any]:
        """Send a command; its reply is raised where it is an error, and Lost where none comes."""
        loop, transport = self._loop, self._transport
        answer = loop.create_future()
        if transport is None or transport.is_closing():
            answer.set_exception(Lost("the connection is closed"))
            return answer
        self._asked.append((answer, loop.time()))
        if self._watching is None:
            self._watching = loop.call_later(self._patience, self._watch)
        transport.write(frame)
        return answer

    async def close(self) -> None:
        """Let go, and return when the socket is gone."""
        if self._transport is not None:
            self._transport.abort()
            await self.ended

    def sever(self) -> None:
        """Cut the line: whatever was not delivered yet must not arrive later."""
        if self._transport is None or self.ended.done():  # lost already: there is no socket to speak of
            return
        line = self._transport.get_extra_info("socket")
        with suppress(OSError, AttributeError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def _watch(self) -> None:
        """Nobody waits longer than the patience for an answer."""
        self._watching = None
        if self._asked:
            left = self._asked[0][1] + self._patience - self._loop.time()
            if left <= 0:
                self.sever()
            else:
                self._watching = self._loop.call_later(left, self._watch)

    # -- what the loop tells ----------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        reader, asked = self._reader, self._asked
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not False:
                answer, _ = asked.popleft()
                if answer.done():
                    continue
                if isinstance(reply, ServerError):
                    answer.set_exception(reply)
                else:
                    answer.set_result(reply)
        except hiredis.ProtocolError:
            self.sever()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watching is not None:
            self._watching.cancel()
        for answer, _ in self._asked:
            if not answer.done():
                answer.set_exception(Lost(str(exc or "the connection was closed")))
        self._asked.clear()
        if not self.ended.done():
            self.ended.set_result(None)


def _keep_alive(line: socket.socket) -> None:
    """Let the kernel find out that nobody is there any more, while we wait for somebody to speak."""
    with suppress(OSError, AttributeError):
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
