"""A small pooler before a real PostgreSQL: sessions have numbers of their own, and servers are lent."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_SSL, _STARTUP = 80877103, 196608
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pooler:
    """`mode` is "session", "transaction" or "statement", as pgbouncer means them."""

    def __init__(self, host: str, port: int, mode: str) -> None:
        self._target = host, port
        self._mode = mode
        self._idle: list[Line] = []  # the one given back last is lent first
        self._all: list[Line] = []
        self._greeting = b""
        self._clients = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._client, "127.0.0.1")
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for _, writer in self._all:
                writer.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await self._greet(reader, writer)
            while (message := await _message(reader))[:1] != b"X":
                if self._mode == "statement" and b"begin" in message.lower():
                    writer.write(_refusal())
                    break
                await self._turn(message, reader, writer, line)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Line | None:
        startup = await _startup(reader, writer)
        line = None
        if self._mode == "session" or not self._greeting:
            line = await self._server(startup)
        self._clients += 1
        # BackendKeyData: a number that no server has.
        key = b"K" + struct.pack("!iii", 12, 2_000_000_000 + self._clients, 7)
        writer.write(self._greeting[:-6] + key + self._greeting[-6:])
        return line

    async def _server(self, startup: bytes) -> Line:
        """One session more with the real server; what it says first is kept, but for its number."""
        line = await asyncio.open_connection(*self._target)
        self._all.append(line)
        line[1].write(startup)
        said = [b""]
        while said[-1][:1] != b"Z":
            said.append(await _message(line[0]))
        self._greeting = b"".join(message for message in said if message[:1] != b"K")
        if self._mode != "session":
            self._idle.append(line)
        return line

    async def _turn(
        self, message: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: Line | None
    ) -> None:
        """Lend a server until a transaction has ended."""
        line = own if own and self._mode == "session" else self._idle.pop()
        while True:
            line[1].write(message)
            while message[:1] not in (b"Q", b"S"):
                message = await _message(reader)
                line[1].write(message)
            answer = b""
            while answer[:1] != b"Z":
                answer = await _message(line[0])
                writer.write(answer)
            if answer[5:6] == b"I":
                break
            message = await _message(reader)
        if self._mode != "session":
            self._idle.append(line)


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    while True:
        size = await reader.readexactly(4)
        rest = await reader.readexactly(struct.unpack("!i", size)[0] - 4)
        if struct.unpack("!i", rest[:4])[0] == _STARTUP:
            return size + rest
        writer.write(b"N")  # neither TLS nor GSS here


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)


def _refusal() -> bytes:
    text = b"SFATAL\0C0A000\0Mtransaction blocks not allowed in statement pooling mode\0\0"
    return b"E" + struct.pack("!i", len(text) + 4) + text
