"""Socket.IO rooms: who may enter them, what is told there, and who is put out."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import socketio
import uvicorn

from conformance.kit import make_id, new
from feed.kit import PATIENCE, an_event, memory_engine  # noqa: F401
from penstock.engine import Engine, JobEvent
from penstock.feed.reader import Feed
from penstock.feed.socketio import JobRooms
from penstock.feed.subscription import MAX_BUFFERED
from penstock.model.access import Principal, Scope

READ = frozenset({Scope.READ})
REFUSED = {"error": "there is no such thing, or it is not yours"}


class Hall:
    """A Socket.IO server with rooms for jobs."""

    def __init__(self, engine: Engine, host: str) -> None:
        self.engine = engine
        self.url = f"http://{host}"
        self.people = {
            "ana": Principal(name="ana", scopes=READ, owner="ana"),
            "bob": Principal(name="bob", scopes=READ, owner="bob"),
            "root": Principal(name="root", scopes=READ, all_owners=True),
        }
        self.feed = Feed(engine, settled_after=0.0)
        self.server = socketio.AsyncServer(async_mode="asgi")
        self.rooms = JobRooms(self.server, engine, self.feed, self.who)

    async def who(self, auth: Any) -> Principal | None:
        return self.people.get(auth or "")

    async def job(self, owner: str) -> str:
        job = new(owner=owner)
        await self.engine.enqueue([job])
        return job.id

    @contextlib.asynccontextmanager
    async def client(self, person: str | None = None) -> AsyncIterator[Client]:
        async with httpx.AsyncClient(base_url=self.url, timeout=PATIENCE) as line:
            client = Client(line)
            await client.connect(person)
            yield client


class Client:
    """Speaks the protocol over polling, in its own words."""

    def __init__(self, line: httpx.AsyncClient) -> None:
        self._line = line
        self._path = "/socket.io/?EIO=4&transport=polling"
        self._ids = itertools.count()
        self.heard: list[tuple[str, Any]] = []
        self.closed = False

    async def connect(self, person: str | None) -> None:
        opened = (await self._line.get(self._path)).text
        self._path += f"&sid={json.loads(opened[1:])['sid']}"
        await self._say(f"40{json.dumps(person)}" if person else "40")
        assert (await self._packets())[0].startswith("40")

    async def ask(self, event: str, wish: Any) -> Any:
        number = next(self._ids)
        await self._say(f"42{number}{json.dumps([event, wish])}")
        async with asyncio.timeout(PATIENCE):
            while True:
                for packet in await self._packets():
                    if packet.startswith(f"43{number}["):
                        return json.loads(packet[len(f"43{number}") :])[0]

    async def hear(self, count: int) -> list[tuple[str, Any]]:
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) < count and not self.closed:
                await self._packets()
        return self.heard

    async def _say(self, packet: str) -> None:
        assert (await self._line.post(self._path, content=packet)).status_code == 200

    async def _packets(self) -> list[str]:
        answer = await self._line.get(self._path)
        if answer.status_code != 200:
            self.closed = True
            return []
        packets = answer.text.split("\x1e")
        for packet in packets:
            if packet.startswith("42["):
                event, data = json.loads(packet[2:])
                self.heard.append((event, data))
            self.closed = self.closed or packet in ("1", "41")
            if packet == "2":
                await self._say("3")
        return packets


@pytest.fixture(name="hall")
async def open_hall(memory: Engine) -> AsyncIterator[Hall]:
    listening = socket.create_server(("127.0.0.1", 0))
    hall = Hall(memory, f"127.0.0.1:{listening.getsockname()[1]}")
    config = uvicorn.Config(socketio.ASGIApp(hall.server), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listening]))
    running = asyncio.create_task(hall.rooms.run())
    while not (server.started and hall.feed.listeners and hall.feed._settled):
        await asyncio.sleep(0.01)
    yield hall
    running.cancel()
    server.should_exit = True
    await asyncio.wait({running, serving}, timeout=PATIENCE)
    await hall.feed.close()
    await hall.server.shutdown()


async def test_a_room_hears_of_its_jobs_and_of_no_others(hall: Hall) -> None:
    mine, other = await hall.job("ana"), await hall.job("bob")
    async with hall.client("ana") as client:
        assert await client.ask("follow", {"job": mine}) == {"room": f"job:{mine}"}
        await hall.engine.publish([JobEvent("started", each, "default", "work") for each in (other, mine)])
        [(event, data)] = await client.hear(1)
        assert (event, data["job_id"]) == ("started", mine)


async def test_who_is_in_several_rooms_of_an_event_hears_it_once(hall: Hall) -> None:
    event = an_event(1, owner="ana")
    async with hall.client("root") as client:
        for wish in ({"job": event.job_id}, {"owner": "ana"}, {"queue": "default"}):
            assert "room" in await client.ask("follow", wish)
        await hall.engine.publish([event, event._replace(event="completed")])
        assert [name for name, _ in await client.hear(2)] == ["progress", "completed"]


async def test_who_has_left_a_room_hears_no_more_of_it(hall: Hall) -> None:
    first, second = an_event(1), an_event(2)
    async with hall.client("root") as client:
        for each in (first, second):
            await client.ask("follow", {"job": each.job_id})
        await client.ask("unfollow", {"job": first.job_id})
        await hall.engine.publish([first, second])
        assert [data["n"] for _, data in await client.hear(1)] == [2]


@pytest.mark.parametrize("person", [None, "nobody", "bob"])
async def test_rooms_of_others_are_closed(hall: Hall, person: str | None) -> None:
    job = await hall.job("ana")
    wishes = [{"job": job}, {"job": make_id()}, {"owner": "ana"}, {"queue": "default"}]
    async with hall.client(person) as client:
        for wish in [*wishes, {}, [], "job", {"job": 7}, {"job": ""}, {"job": job, "owner": "bob"}]:
            assert await client.ask("follow", wish) == REFUSED, wish


async def test_a_follow_token_opens_the_room_of_its_job_only(hall: Hall) -> None:
    job, other = await hall.job("ana"), await hall.job("ana")
    token = await hall.feed.tokens.make(job)
    async with hall.client() as client:
        assert await client.ask("follow", {"job": other, "token": token}) == REFUSED
        assert await client.ask("follow", {"job": job, "token": token}) == {"room": f"job:{job}"}


async def test_a_room_entered_by_a_follow_token_is_left_when_that_is_over(hall: Hall) -> None:
    job, other = await hall.job("ana"), await hall.job("ana")
    short, long = await hall.feed.tokens.make(job, ttl=2), await hall.feed.tokens.make(other)
    async with hall.client() as client:
        assert "room" in await client.ask("follow", {"job": job, "token": short})
        assert "room" in await client.ask("follow", {"job": other, "token": long})
        async with asyncio.timeout(PATIENCE):
            while len(hall.rooms._until) > 1:
                await asyncio.sleep(0.05)
        await hall.engine.publish([JobEvent("started", each, "default", "work") for each in (job, other)])
        [(_, data)] = await client.hear(1)
        assert data["job_id"] == other


async def test_who_loses_the_right_is_put_out_within_five_seconds(hall: Hall) -> None:
    async with hall.client("ana") as client:
        await client.ask("follow", {"owner": "ana"})
        del hall.people["ana"]
        async with asyncio.timeout(5):
            await client.hear(1)
        assert client.closed


async def test_a_client_that_takes_nothing_is_told_to_look_and_put_out(hall: Hall) -> None:
    async with hall.client("root") as client:
        await client.ask("follow", {"queue": "default"})
        [line] = hall.server.eio.sockets.values()
        for _ in range(3):
            await hall.engine.publish([an_event(n) for n in range(MAX_BUFFERED // 2)])
        async with asyncio.timeout(PATIENCE):
            sid = hall.server.manager.sid_from_eio_sid(line.sid, "/")
            while "queue:default" in hall.server.rooms(sid):
                await asyncio.sleep(0.01)
        assert line.queue.qsize() == 1
        await hall.engine.publish([an_event(0)])
        assert await client.hear(2) == [("resync", {"reason": "slow"})]
        assert client.closed


async def test_where_something_is_missing_everybody_is_told(hall: Hall) -> None:
    async with hall.client("ana") as client:
        hall.feed._resync_all("gap")
        assert await client.hear(1) == [("resync", {"reason": "gap"})]
