"""What the tests of the feed share: an engine in memory, events to publish, and a patient ear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from conformance.kit import make_id
from penstock.engine import Engine, JobEvent
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.feed.reader import Feed
from penstock.feed.subscription import Happened, Heard, Subscription
from penstock.model.clock import FakeClock

PATIENCE = 20.0


@pytest.fixture(name="memory")
async def memory_engine(clock: FakeClock) -> AsyncIterator[SqliteEngine]:
    engine = SqliteEngine(":memory:", clock=clock)
    await engine.migrate()
    await engine.open()
    yield engine
    await engine.close()


@pytest.fixture(name="feed")
async def quick_feed(memory: SqliteEngine) -> AsyncIterator[Feed]:
    """A feed for which everybody knows at once that somebody listens."""
    feed = Feed(memory, settled_after=0.0)
    yield feed
    await feed.close()


def an_event(number: int, *, owner: str | None = None, job_id: str | None = None) -> JobEvent:
    return JobEvent("progress", job_id or make_id(), "default", "work", owner, f'{{"n":{number}}}')


def some_events(*numbers: int, owner: str | None = None) -> list[JobEvent]:
    return [an_event(number, owner=owner) for number in numbers]


async def hear(listener: Subscription, enough: Callable[[list[Heard]], bool]) -> list[Heard]:
    """What is heard until it is enough."""
    heard: list[Heard] = []
    async with asyncio.timeout(PATIENCE):
        while not enough(heard):
            assert not listener.cut, f"cut after {len(heard)}"
            heard += await listener.take(1.0)
    return heard


async def hear_some(listener: Subscription, count: int) -> list[Heard]:
    return await hear(listener, lambda heard: len(heard) >= count)


async def settled(listener: Subscription) -> str:
    """A place from which can be gone on: where everybody knows that somebody listens."""
    [resync] = await hear_some(listener, 1)
    return resync.cursor


def numbers(heard: list[Heard]) -> list[int]:
    return [each.data["n"] for each in heard if isinstance(each, Happened)]


async def publish(engine: Engine, *batches: list[JobEvent]) -> None:
    for batch in batches:
        await engine.publish(batch)
