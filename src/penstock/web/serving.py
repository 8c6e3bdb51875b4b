"""The service on a socket of its own: `penstock serve`, and beside a worker in `penstock dev`."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import socket
import sys
from typing import Literal

import uvicorn
from fastapi import FastAPI

from penstock.app import Penstock
from penstock.model.errors import InvalidOption
from penstock.model.hosts import is_loopback
from penstock.runtime import signals
from penstock.runtime.memory import keep_what_is_there

GRACE = 10  # seconds that requests under way get to end
BACKLOG = 2_048  # who may wait to be let in, as uvicorn has it
SEND_BUFFER = 65_536  # bytes that the kernel keeps for a client
CONNECTIONS = 800  # at once: most machines let a process have 1,024 files
NOT_TAKEN = 20_000  # milliseconds after which a client that takes nothing of what was sent is gone


async def check_address(app: Penstock, host: str) -> None:
    """InvalidOption where others could come in, and there is no token by which to tell them apart."""
    if is_loopback(host):
        return
    async with app:
        if not await app.ops.tokens.any():
            raise InvalidOption(
                f"there are no tokens, so that everybody who reaches {host} could do everything: make one "
                "with `penstock token create`, or serve on 127.0.0.1"
            )


def listen(host: str, port: int, tries: int = 1) -> socket.socket:
    """Whoever comes from now on waits until they are served; InvalidOption where the ports are taken."""
    for each in range(port, min(port + tries, 65_536)):
        door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hold_little(door)
        try:
            door.bind((host, each))
            door.listen(BACKLOG)
        except OSError as error:
            door.close()
            if error.errno != errno.EADDRINUSE:
                raise InvalidOption(f"nobody can listen on port {each} of {host}: {error.strerror}") from None
        else:
            return door
    ports = f"port {port} of {host} is" if tries == 1 else f"ports {port} to {port + tries - 1} of {host} are"
    raise InvalidOption(f"{ports} taken by other programs; choose another: --port {port + tries}")


def address(door: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = door.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    service: FastAPI, door: socket.socket, log_level: str, connections: int = CONNECTIONS
) -> None:
    """Serve until a signal comes."""
    await prepare(service, log_level, connections).serve_at(door)


def prepare(service: FastAPI, log_level: str, connections: int = CONNECTIONS) -> Server:
    """A server that a signal ends from now on: one that comes before it serves is not lost."""
    config = uvicorn.Config(
        service,
        http=_http(),
        ws="none",
        limit_concurrency=connections + 1,
        log_level=log_level.lower(),
        log_config=None,  # what it logs goes where ours goes, and is as clean
        access_log=False,
        server_header=False,
        # Who asks is who connects: a header that says otherwise could be anybody's.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=32_768,
    )
    server = Server(config)
    signals.answer_by(server.stop)
    return server


class Server(uvicorn.Server):
    """While it serves, uvicorn answers the signals; it raises them once more at the end, which is no news."""

    def stop(self) -> None:
        self.should_exit = True

    async def serve_at(self, door: socket.socket) -> None:
        with door:
            await self.serve([door])
        signals.ignore()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        keep_what_is_there()


def _http() -> type[asyncio.Protocol] | Literal["h11"]:
    """The fast one where it is there; h11 is bounded by itself, if not in time."""
    if importlib.util.find_spec("httptools") is None:
        return "h11"
    from penstock.web.wire import BoundedHttp  # noqa: PLC0415 - needs httptools

    return BoundedHttp


def hold_little(door: socket.socket) -> None:
    """Connections keep little of what nobody reads, and not for long.

    The kernel would keep megabytes for each client, and for as long as one that never reads lives.
    """
    door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    if sys.platform == "linux":
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, NOT_TAKEN)
