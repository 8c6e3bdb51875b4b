"""The feed where the server may lose what it had: a watcher is told, and no number comes twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.kit import make_id
from engines.redis_kit import fresh_engine
from penstock.engine import JobEvent
from servers import RedisServer


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    with RedisServer("redis") as server:
        yield server


def some(count: int) -> list[JobEvent]:
    return [JobEvent("added", make_id(), "q", "t") for _ in range(count)]


async def test_after_a_flush_a_watcher_is_told_of_the_gap_however_far_the_new_feed_has_come(own_server):
    async with fresh_engine(own_server) as engine:
        await engine.publish(some(3))
        seen = (await engine.feed(0, 10)).cursor
        own_server.ask("FLUSHALL")
        assert (await engine.feed(seen, 10)).gap
        events = some(100)
        await engine.publish(events)
        page = await engine.feed(seen, 200)
        assert page.gap
        assert [event for _, _, event in page.events] == events
        assert not (await engine.feed(page.cursor, 10)).gap


async def test_a_server_that_lost_its_latest_writes_gives_no_number_twice(own_server):
    async with fresh_engine(own_server) as engine:
        await engine.publish(some(3))
        own_server.ask("COPY", *(f"{{{engine.schema}}}:{name}" for name in ("feed", "feed-before")))
        own_server.ask("COPY", *(f"{{{engine.schema}}}:{name}" for name in ("feeding", "feeding-before")))
        await engine.publish(some(5))
        seen = (await engine.feed(0, 10)).cursor
        own_server.ask("RENAME", *(f"{{{engine.schema}}}:{name}" for name in ("feed-before", "feed")))
        own_server.ask("RENAME", *(f"{{{engine.schema}}}:{name}" for name in ("feeding-before", "feeding")))
        events = some(4)
        await engine.publish(events)
        assert [event for _, _, event in (await engine.feed(seen, 10)).events] == events
