"""What comes over a socket before it is a request: bounded in bytes, in time and in number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from uvicorn.server import ServerState

from penstock.web.wire import MAX_HEAD, BoundedHttp

START = b"GET / HTTP/1.1\r\nHost: x\r\n"


class Impatient(BoundedHttp):
    head_seconds = 0.2


async def hello(scope, receive, send) -> None:
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def served(
    protocol: type[BoundedHttp] = BoundedHttp, connections: int = 100
) -> AsyncIterator[tuple[str, int]]:
    config = uvicorn.Config(
        hello, http=protocol, ws="none", limit_concurrency=connections + 1, lifespan="off"
    )
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config, state, {}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()
        for open_one in list(state.connections):
            open_one.transport.abort()


async def answer_to(address: tuple[str, int], *pieces: bytes) -> bytes:
    """All that is answered until the server ends the connection."""
    reader, writer = await asyncio.open_connection(*address)
    answer = b""
    try:
        async with asyncio.timeout(10):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            answer = await reader.read()
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return answer


async def test_headers_without_end_are_cut_off_at_their_bound() -> None:
    for one in (b"X-%d: " % 7 + b"a" * 8_000 + b"\r\n", b"a" * 8_000, b"X: y\r\n" * 2_000):
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(START + (b"X: " if b":" not in one else b""))
            sent = 0
            async with asyncio.timeout(10):
                while not reader.at_eof() and sent < 100 * MAX_HEAD:
                    writer.write(one)
                    sent += len(one)
                    try:
                        await writer.drain()
                        await asyncio.sleep(0)
                    except ConnectionError:
                        break
            assert sent < 100 * MAX_HEAD, "it is not read any more"
            writer.transport.abort()


async def test_headers_that_are_too_long_are_431_and_long_bodies_are_no_headers() -> None:
    async with served() as address:
        too_long = START + b"X: " + b"a" * MAX_HEAD + b"\r\n\r\n"
        assert (await answer_to(address, too_long)).startswith(b"HTTP/1.1 431 ")
        assert (await answer_to(address, too_long[: MAX_HEAD + 1])).startswith(b"HTTP/1.1 431 ")
        body = b"b" * 500_000
        head = b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert (await answer_to(address, head + body)).startswith(b"HTTP/1.1 200 ")


async def test_what_follows_a_chunked_body_is_bounded_as_headers_are() -> None:
    async with served() as address:
        head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
        assert b" 200 " not in await answer_to(address, head, b"X: " + b"a" * 20 * MAX_HEAD)


async def test_headers_that_drip_are_408_and_an_idle_connection_is_closed() -> None:
    async with served(Impatient) as address:
        assert (await answer_to(address, START)).startswith(b"HTTP/1.1 408 ")
        assert b" 200 " not in await answer_to(address)

        reader, writer = await asyncio.open_connection(*address)
        writer.write(START + b"\r\n")
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 ")
        writer.write(START)
        async with asyncio.timeout(5):
            assert (await reader.readline()).startswith(b"HTTP/1.1 408 "), "of each request on a connection"
        writer.transport.abort()


async def test_more_connections_than_the_bound_are_turned_away_until_others_have_gone() -> None:
    async with served(connections=3) as address:
        held = [await asyncio.open_connection(*address) for _ in range(3)]
        for reader, writer in held:  # so that all of them have been taken in
            writer.write(START + b"\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        assert (await answer_to(address, START)).startswith(b"HTTP/1.1 503 ")
        held[0][1].close()
        await held[0][1].wait_closed()
        close = START + b"Connection: close\r\n\r\n"
        async with asyncio.timeout(5):
            while not (await answer_to(address, close)).startswith(b"HTTP/1.1 200 "):
                pass
        for _, writer in held:
            writer.transport.abort()


async def test_a_request_to_switch_the_protocol_is_answered_as_any_other() -> None:
    async with served() as address:
        ask = START + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
        reader, writer = await asyncio.open_connection(*address)
        writer.write(ask)
        async with asyncio.timeout(5):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()
