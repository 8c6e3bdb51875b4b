"""Events for Node's Socket.IO replicas: in the adapter's own format, each once, by whoever has the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgpack
import pytest
import redis.asyncio

from feed.kit import PATIENCE, an_event, memory_engine, some_events  # noqa: F401
from penstock.engine import Engine, JobEvent
from penstock.feed.bridge import TURN, RedisBridge, packed
from penstock.feed.reader import Feed
from penstock.feed.subscription import Happened, Resync
from penstock.model.clock import FakeClock
from servers import redis_server

# What `io.to("job:1").to("queue:email").emit("completed", {job_id: "1", id: 7, owner: null})` publishes on
# `socket.io#/#`, by socket.io 4.8 with @socket.io/redis-adapter 8.3 (`make node` runs the real ones).
FROM_NODE = bytes.fromhex(
    "93a661567666535883a47479706502a46461746192a9636f6d706c6574656483a66a6f625f6964a131a2696407a56f776e6572c0"
    "a36e7370a12f83a5726f6f6d7392a56a6f623a31ab71756575653a656d61696ca665786365707490a5666c61677380"
)


def test_a_message_has_the_shape_of_the_adapters_own() -> None:
    event = JobEvent("completed", "1", "email", "send")
    uid, packet, options = msgpack.unpackb(packed(Happened(7, datetime.now(UTC), event, "7-a")))
    their_uid, theirs, their_options = msgpack.unpackb(FROM_NODE)
    assert type(uid) is type(their_uid)
    assert uid != their_uid
    assert options == their_options
    name, data = packet.pop("data")
    their_name, their_data = theirs.pop("data")
    assert (packet, name) == (theirs, their_name)
    assert their_data.items() <= data.items()


def test_a_word_to_everybody_is_for_all_rooms() -> None:
    _, packet, options = msgpack.unpackb(packed(Resync("gap", "7")))
    assert (packet["data"], options["rooms"]) == (["resync", {"reason": "gap"}], [])


@pytest.fixture(name="node")
async def node_ear() -> AsyncIterator[Any]:
    """Hears what a Node replica would."""
    async with redis.asyncio.Redis.from_url(redis_server("redis").url()) as client:
        ear = client.pubsub(ignore_subscribe_messages=True)
        await ear.psubscribe("socket.io#/#*")
        yield ear
        await ear.aclose()


async def heard(node: Any, count: int) -> list[int]:
    numbers: list[int] = []
    async with asyncio.timeout(PATIENCE):
        while len(numbers) < count:
            message = await node.get_message(timeout=1.0)
            if message is not None:
                name, data = msgpack.unpackb(message["data"])[1]["data"]
                numbers += [data["n"]] if name == "progress" else []
    return numbers


async def test_of_two_bridges_one_brings_each_event_and_the_other_goes_on_after_it(
    memory: Engine, clock: FakeClock, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.feed.bridge.AWAY", 0.05)
    url = redis_server("redis").url()
    feeds = [Feed(memory, settled_after=0.0) for _ in range(2)]
    first, second = [asyncio.create_task(RedisBridge(memory, feed, url).run()) for feed in feeds]
    async with asyncio.timeout(PATIENCE):
        while not any(feed._settled for feed in feeds):
            await asyncio.sleep(0.01)
    await memory.publish(some_events(1, 2, 3))
    assert await heard(node, 3) == [1, 2, 3]
    assert [feed.listeners for feed in feeds] in ([1, 0], [0, 1])
    holder, heir = (first, second) if feeds[0].listeners else (second, first)
    await noted(memory)
    holder.cancel()
    await asyncio.wait({holder})
    await memory.publish(some_events(4))
    clock.advance(TURN + 1)
    await memory.publish([an_event(5)])
    assert await heard(node, 2) == [4, 5]
    heir.cancel()
    await asyncio.wait({heir})
    for feed in feeds:
        await feed.close()


async def noted(engine: Engine) -> None:
    """Until the bridge has noted how far it has come."""
    here = str((await engine.feed(None, 1)).cursor)
    async with asyncio.timeout(PATIENCE):
        while here not in getattr(await engine.note("turn", "socketio-place"), "body", ""):
            await asyncio.sleep(0.01)
