"""Socket.IO rooms for browsers: `job:<id>`, `owner:<owner>`, `queue:<queue>`.

Each process hears the feed itself, so that clients of any replica hear the same, with no server between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from penstock.engine import Engine
from penstock.feed.reader import Feed
from penstock.feed.rooms import RESYNC, job_room, owner_room, queue_room, rooms_of
from penstock.feed.subscription import MAX_BUFFERED, Heard, Resync
from penstock.model.access import Principal, Scope
from penstock.model.errors import EngineError, MissingExtra

try:
    import socketio
    from engineio.packet import MESSAGE, Packet
    from socketio.packet import EVENT
except ImportError as _missing:
    raise MissingExtra(
        'Socket.IO needs python-socketio; install it with: pip install "penstock[socketio]"'
    ) from _missing

log = logging.getLogger("penstock.feed")

TICK = 1.0  # seconds between looks at who may still listen, and who keeps up
AWAY = 1.0
FAREWELL = 5.0  # seconds for a client that is too slow to take its last word
REFUSED = {"error": "there is no such thing, or it is not yours"}


Authenticate = Callable[[Any], Awaitable[Principal | None]]  # of what the client gives as `auth`


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
        self._known: dict[str, Principal] = {}
        self._until: dict[tuple[str, str], float] = {}  # rooms entered by a follow token, by client
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
        principal = await self._authenticate(auth)
        if principal is not None:
            self._given[sid] = auth
            self._known[sid] = principal

    async def _gone(self, sid: str, *_: object) -> None:
        self._given.pop(sid, None)
        self._known.pop(sid, None)
        for place in [place for place in self._until if place[0] == sid]:
            del self._until[place]

    async def _follow(self, sid: str, wish: Any) -> Mapping[str, str]:
        room = _named(wish) if isinstance(wish, dict) else None
        left = await self._may_stay(sid, wish) if room is not None else None
        if room is None or left is None:
            return REFUSED
        await self._server.enter_room(sid, room)
        self._until[sid, room] = max(time.monotonic() + left, self._until.get((sid, room), 0.0))
        return {"room": room}

    async def _unfollow(self, sid: str, wish: Any) -> Mapping[str, str]:
        room = _named(wish) if isinstance(wish, dict) else None
        if room is None:
            return REFUSED
        self._until.pop((sid, room), None)
        await self._server.leave_room(sid, room)
        return {"room": room}

    async def _may_stay(self, sid: str, wish: dict[str, Any]) -> float | None:
        """For how many seconds the room that is wished for may be heard; None: not at all."""
        if isinstance(token := wish.get("token"), str) and "job" in wish:
            return await self._tokens.check(token, wish["job"])
        return math.inf if await self._may_enter(sid, wish) else None

    async def _may_enter(self, sid: str, wish: dict[str, Any]) -> bool:
        principal = self._known.get(sid)
        if principal is None or not principal.may(Scope.READ):
            return False
        if principal.sees_all:
            return True
        owner = await self._owner_of(wish["job"]) if "job" in wish else wish.get("owner")
        return principal.owns(owner)

    async def _owner_of(self, job_id: str) -> str | None:
        job = await self._engine.get(job_id)
        if job is not None:
            return job.owner
        record = await self._engine.history(job_id)
        return None if record is None else record.owner

    # -- who may stay -----------------------------------------------------------------------------------
    async def _look_after_clients(self) -> None:
        now = time.monotonic()
        for sid, room in [place for place, until in self._until.items() if until <= now]:
            del self._until[sid, room]
            await self._server.leave_room(sid, room)
        for sid, given in list(self._given.items()):
            if await self._authenticate(given) != self._known.get(sid):
                await self._server.disconnect(sid)
        for client in list(self._server.eio.sockets.values()):
            if client.queue.qsize() > MAX_BUFFERED:
                await self._cut(client)

    async def _cut(self, client: Any) -> None:
        """In the place of all that it did not take: one word that something is missing; and nothing after."""
        sid = self._server.manager.sid_from_eio_sid(client.sid, "/")
        for room in self._server.rooms(sid) if sid else ():
            if room != sid:
                await self._server.leave_room(sid, room)
        while not client.queue.empty():
            client.queue.get_nowait()
            client.queue.task_done()
        word = self._server.packet_class(EVENT, namespace="/", data=[RESYNC, {"reason": "slow"}])
        client.queue.put_nowait(Packet(MESSAGE, word.encode()))
        self._server.start_background_task(_close_when_told, client)


async def _close_when_told(client: Any) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL):
            await client.queue.join()
    await client.close(wait=False)


def _named(wish: dict[str, Any]) -> str | None:
    rooms = {"job": job_room, "owner": owner_room, "queue": queue_room}
    asked = [(make, wish[name]) for name, make in rooms.items() if name in wish]
    if len(asked) != 1 or not isinstance(asked[0][1], str) or not 0 < len(asked[0][1]) <= 200:
        return None
    make, name = asked[0]
    return make(name)
