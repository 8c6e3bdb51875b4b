"""A real server with the routes of the feed, and a client that reads a stream frame by frame."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import uvicorn
from starlette.requests import Request

from feed.kit import PATIENCE
from penstock import Context, Penstock
from penstock.web import Limits, Principal, Scope, make_service

READ = frozenset({Scope.READ, Scope.ENQUEUE})
UNLIMITED = Limits(per_token=None, per_address=None, wrong_tokens=None)


class House:
    """An open app behind a server; its doorkeeper knows people by what stands in a header."""

    def __init__(self, app: Penstock, listening: socket.socket) -> None:
        self.app = app
        self.host = f"127.0.0.1:{listening.getsockname()[1]}"
        service = make_service(app, auth=self.who, limits=UNLIMITED)
        config = uvicorn.Config(service, log_level="info", lifespan="off", timeout_keep_alive=1)
        self.server = uvicorn.Server(config)
        self.people = {
            "ana": Principal(name="ana", scopes=READ, owner="ana"),
            "bob": Principal(name="bob", scopes=READ, owner="bob"),
            "root": Principal(name="root", scopes=READ, all_owners=True),
        }
        self.go = asyncio.Event()

    async def who(self, request: Request) -> Principal | None:
        return self.people.get(request.headers.get("x-person", ""))

    def client(self, person: str | None = None, **headers: str) -> httpx.AsyncClient:
        given = {"x-person": person} if person else {}
        return httpx.AsyncClient(
            base_url=f"http://{self.host}", headers={**given, **headers}, timeout=PATIENCE
        )


@contextlib.asynccontextmanager
async def open_house(url: str) -> AsyncIterator[House]:
    app = Penstock(url, name="house")
    listening = socket.create_server(("127.0.0.1", 0))
    house = House(app, listening)

    @app.task
    async def wait(ctx: Context) -> None:
        await ctx.progress(10, "waiting")
        await house.go.wait()

    async with app:
        app.feed._settled_after = 0.0
        serving = asyncio.create_task(house.server.serve([listening]))
        while not house.server.started:
            await asyncio.sleep(0.01)
        try:
            yield house
        finally:
            house.go.set()
            house.server.should_exit = True
            await asyncio.wait_for(serving, PATIENCE)


class Frame(NamedTuple):
    event: str
    data: Any
    id: str | None


@contextlib.asynccontextmanager
async def stream(client: httpx.AsyncClient, path: str, **more: Any) -> AsyncIterator[AsyncIterator[Frame]]:
    async with client, client.stream("GET", path, **more) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield frames(response)


async def frames(response: httpx.Response) -> AsyncIterator[Frame]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield Frame(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


async def until(stream: AsyncIterator[Frame], event: str) -> list[Frame]:
    """What comes up to the event of this name."""
    seen: list[Frame] = []
    async with asyncio.timeout(PATIENCE):
        async for each in stream:
            seen.append(each)
            if each.event == event:
                return seen
    raise AssertionError(f"the stream ended after {seen}")


async def rest(stream: AsyncIterator[Frame]) -> list[Frame]:
    """What comes until the stream ends."""
    async with asyncio.timeout(PATIENCE):
        return [each async for each in stream]
