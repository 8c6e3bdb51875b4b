"""Socket.IO rooms for browsers: `job:<id>`, `owner:<owner>`, `queue:<queue>`.

Each process hears the feed itself, so that clients of any replica hear the same, with no server between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from penstock.engine import Engine
from penstock.feed.reader import Feed
from penstock.feed.rooms import RESYNC, job_room, owner_room, queue_room, rooms_of
from penstock.feed.subscription import MAX_BUFFERED, Heard, Resync
from penstock.model.errors import EngineError, MissingExtra

try:
    import socketio
    from engineio.packet import MESSAGE, Packet
except ImportError as _missing:
    raise MissingExtra(
        'Socket.IO needs python-socketio; install it with: pip install "penstock[socketio]"'
    ) from _missing

log = logging.getLogger("penstock.feed")

TICK = 1.0  # seconds between looks at who may still listen, and who keeps up
AWAY = 1.0
FAREWELL = 5.0  # seconds for a client that is too slow to take its last word
REFUSED = {"error": "there is no such thing, or it is not yours"}


class Viewer(Protocol):
    """Who asks."""

    @property
    def sees(self) -> str | None:
        """The owner whose jobs may be seen; None: everybody's."""


Authenticate = Callable[[Any], Awaitable[Viewer | None]]  # of what the client gives as `auth`


class JobRooms:
    """Adds rooms to a Socket.IO server of the caller's; `await rooms.run()` brings them what happens.

    A client sends `follow` with one of `{"job": id}`, `{"job": id, "token": follow token}`, `{"owner": o}`
    and `{"queue": q}`, and is answered `{"room": …}` or `{"error": …}`; `unfollow` likewise.
    """

    def __init__(
        self, server: socketio.AsyncServer, engine: Engine, feed: Feed, authenticate: Authenticate
    ) -> None:
        self._server = server
        self._engine = engine
        self._feed = feed
        self._tokens = feed.tokens
        self._authenticate = authenticate
        self._given: dict[str, Any] = {}  # what each client gave to be let in
        self._sees: dict[str, Viewer] = {}
        server.on("connect", self._connected)
        server.on("disconnect", self._gone)
        server.on("follow", self._follow)
        server.on("unfollow", self._unfollow)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                async with self._feed.subscribe() as listener:
                    while not listener.cut:
                        for heard in await listener.take(TICK):
                            await self._tell(heard)
                        await self._look_after_clients()
            except EngineError as error:
                log.warning("Socket.IO clients hear nothing now: %s", error)
            await asyncio.sleep(AWAY)

    async def _tell(self, heard: Heard) -> None:
        if isinstance(heard, Resync):
            await self._server.emit(RESYNC, {"reason": heard.reason})
        else:
            data = {**heard.data, "id": heard.number}
            await self._server.emit(heard.event.event, data, room=rooms_of(heard.event))

    # -- clients ----------------------------------------------------------------------------------------
    async def _connected(self, sid: str, _: Mapping[str, Any], auth: Any = None) -> None:
        viewer = await self._authenticate(auth)
        if viewer is not None:
            self._given[sid] = auth
            self._sees[sid] = viewer

    async def _gone(self, sid: str, *_: object) -> None:
        self._given.pop(sid, None)
        self._sees.pop(sid, None)

    async def _follow(self, sid: str, wish: Any) -> Mapping[str, str]:
        room = await self._room(sid, wish) if isinstance(wish, dict) else None
        if room is None:
            return REFUSED
        await self._server.enter_room(sid, room)
        return {"room": room}

    async def _unfollow(self, sid: str, wish: Any) -> Mapping[str, str]:
        room = _named(wish) if isinstance(wish, dict) else None
        if room is None:
            return REFUSED
        await self._server.leave_room(sid, room)
        return {"room": room}

    async def _room(self, sid: str, wish: dict[str, Any]) -> str | None:
        """The room that is wished for, where it may be entered."""
        room = _named(wish)
        viewer = self._sees.get(sid)
        if room is None:
            return None
        if isinstance(token := wish.get("token"), str) and "job" in wish:
            return room if await self._tokens.check(token, wish["job"]) is not None else None
        if viewer is None:
            return None
        if viewer.sees is None:
            return room
        if "job" in wish:
            return room if await self._owner_of(wish["job"]) == viewer.sees else None
        return room if wish.get("owner") == viewer.sees else None

    async def _owner_of(self, job_id: str) -> str | None:
        job = await self._engine.get(job_id)
        if job is not None:
            return job.owner
        record = await self._engine.history(job_id)
        return None if record is None else record.owner

    # -- who may stay -----------------------------------------------------------------------------------
    async def _look_after_clients(self) -> None:
        for sid, given in list(self._given.items()):
            viewer = await self._authenticate(given)
            if viewer is None or viewer.sees != self._sees[sid].sees:
                await self._server.disconnect(sid)
        for client in list(self._server.eio.sockets.values()):
            if client.queue.qsize() > MAX_BUFFERED and not client.closed:
                self._server.start_background_task(self._cut, client)

    async def _cut(self, client: Any) -> None:
        """In the place of all that it did not take: one word that something is missing."""
        while not client.queue.empty():
            client.queue.get_nowait()
            client.queue.task_done()
        word = self._server.packet_class(2, namespace="/", data=[RESYNC, {"reason": "slow"}]).encode()
        client.queue.put_nowait(Packet(MESSAGE, word))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await client.close(wait=True)


def _named(wish: dict[str, Any]) -> str | None:
    rooms = {"job": job_room, "owner": owner_room, "queue": queue_room}
    asked = [(make, wish[name]) for name, make in rooms.items() if name in wish]
    if len(asked) != 1 or not isinstance(asked[0][1], str) or not 0 < len(asked[0][1]) <= 200:
        return None
    make, name = asked[0]
    return make(name)
