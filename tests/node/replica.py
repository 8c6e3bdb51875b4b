"""A replica of somebody's Python application, with rooms for jobs: its engine and Redis are given by URL."""

from __future__ import annotations

import asyncio
import socket
import sys

import socketio
import uvicorn

from penstock import Penstock
from penstock.feed.bridge import RedisBridge
from penstock.web.rooms import job_rooms


async def main(url: str, redis: str) -> None:
    app = Penstock(url, name="node")
    listening = socket.create_server(("127.0.0.1", 0))
    server = socketio.AsyncServer(async_mode="asgi")
    async with app:
        rooms = job_rooms(server, app)
        bridge = RedisBridge(app.engine, app.feed, redis)
        http = uvicorn.Server(uvicorn.Config(socketio.ASGIApp(server), log_level="warning", lifespan="off"))
        print(listening.getsockname()[1], flush=True)
        await asyncio.gather(rooms.run(), bridge.run(), http.serve([listening]))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
