"""Brings events to Socket.IO servers of others, in the format of `@socket.io/redis-adapter`.

Every Node replica that uses the adapter receives them and hands them to the clients in the rooms. Of all our
processes one does it at a time: whoever has the turn. It notes how far it has come, so that the next goes on
from there; what it had sent and not noted is then sent again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import secrets
from collections.abc import Sequence

from penstock.engine import Engine
from penstock.engines.redis.address import read_url
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.server import Server
from penstock.feed.reader import Feed
from penstock.feed.rooms import RESYNC, rooms_of
from penstock.feed.subscription import Heard, Resync
from penstock.model.errors import EngineError, MissingExtra

try:
    import msgpack
except ImportError as _missing:
    raise MissingExtra(
        'Socket.IO over Redis needs msgpack; install it with: pip install "penstock[socketio]"'
    ) from _missing

log = logging.getLogger("penstock.feed")

KIND = "turn"
KEY = "socketio"
PLACE = "socketio-place"
TURN = 10.0  # seconds for which a turn holds
RENEWED_EVERY = 2.0  # seconds
REMEMBERED = 3_600.0  # seconds for which it is known how far the last one came
AWAY = 1.0  # seconds before it is tried again

EVENT = 2  # the type of a packet, in Socket.IO's protocol
NAMESPACE = "/"
UID = "penstock"  # the adapter drops what bears its own


def channel_of(prefix: str) -> str:
    return f"{prefix}#{NAMESPACE}#"


def packed(heard: Heard) -> bytes:
    """As the adapter reads it: who sent it, the packet, and for which rooms; none: for all."""
    if isinstance(heard, Resync):
        data: list[object] = [RESYNC, {"reason": heard.reason}]
        rooms: list[str] = []
    else:
        data = [heard.event.event, {**heard.data, "id": heard.number}]
        rooms = rooms_of(heard.event)
    packet = {"type": EVENT, "data": data, "nsp": NAMESPACE}
    message: bytes = msgpack.packb([UID, packet, {"rooms": rooms, "except": [], "flags": {}}])
    return message


class RedisBridge:
    """`await bridge.run()` in as many processes as there are, until cancelled."""

    def __init__(self, engine: Engine, feed: Feed, url: str, *, prefix: str = "socket.io") -> None:
        self._engine = engine
        self._feed = feed
        self._me = secrets.token_hex(8)
        self._server = Server(Connector(read_url(url)), b"")
        self._channel = channel_of(prefix)

    async def run(self) -> None:
        self._server.open()
        try:
            while True:
                try:
                    turn = await self._take_turn()
                    if turn is not None:
                        await self._bring(turn)
                except EngineError as error:
                    log.warning("events do not reach Socket.IO over Redis now: %s", error)
                await asyncio.sleep(AWAY * random.uniform(1.0, 2.0))
        finally:
            await self._server.close()

    async def _take_turn(self) -> int | None:
        """The version of the note that says that it is ours; None: somebody else has it."""
        return await self._engine.put_note(KIND, KEY, _body(self._me), ttl=TURN, expect=0)

    async def _bring(self, turn: int) -> None:
        place = await self._engine.note(KIND, PLACE)
        async with self._feed.subscribe(after=None if place is None else json.loads(place.body)) as listener:
            mine: int | None = turn
            while mine is not None and not listener.cut:
                heard = await listener.take(RENEWED_EVERY)
                await self._send(heard)
                mine = await self._engine.put_note(KIND, KEY, _body(self._me), ttl=TURN, expect=mine)

    async def _send(self, heard: Sequence[Heard]) -> None:
        for each in heard:
            await self._server.ask("PUBLISH", self._channel, packed(each))
        if heard:
            await self._engine.put_note(KIND, PLACE, _body(heard[-1].cursor), ttl=REMEMBERED)


def _body(text: str) -> str:
    return json.dumps(text)
