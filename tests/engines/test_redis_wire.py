"""A connection that the server resets: whatever is done with it then, it is lost and nothing else."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from penstock.engines.redis.address import read_url
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.wire import Lost, Wire, frame
from penstock.model.errors import EngineUnavailable

LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
Loop = Callable[[], asyncio.AbstractEventLoop]
RESET = struct.pack("ii", 1, 0)


def run(loop: Loop, work: Callable[[int], Awaitable[None]]) -> None:
    """Do it with the port of a server that resets every connection once something is said on it."""

    async def with_server() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            line = writer.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            await work(server.sockets[0].getsockname()[1])

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(with_server(), 20))


@LOOPS
def test_a_server_that_resets_who_comes_in_is_unavailable(loop: Loop) -> None:
    async def work(port: int) -> None:
        with pytest.raises(EngineUnavailable):
            await Connector(read_url(f"redis://127.0.0.1:{port}/0")).connect(5.0)

    run(loop, work)


@LOOPS
def test_a_line_that_is_lost_already_may_be_cut_and_closed(loop: Loop) -> None:
    async def work(port: int) -> None:
        _, wire = await asyncio.get_running_loop().create_connection(lambda: Wire(5.0), "127.0.0.1", port)
        with pytest.raises(Lost):
            await wire.call(frame(b"PING"))
        wire.sever()
        await wire.close()
        assert not wire.usable

    run(loop, work)
