"""The engine goes away, the database goes away: relays wait, say so once, and go on by themselves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acceptance.fleet import new_database
from conformance.kit import new
from outbox_kit import Home, found, ids, jobs, make_home
from penstock.engine import Engine
from penstock.engines.redis.engine import RedisEngine
from penstock.model.clock import EngineClock
from penstock.outbox.relay import Relay
from servers import PostgresServer, RedisServer

BOUND = 5.0  # seconds from the end of an outage to the next dispatch


@pytest.fixture(params=["postgresql", "sqlite"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """A user's database in real time."""
    home = make_home(request.param, tmp_path, EngineClock())
    await home.outbox.apply()
    return home


async def until(condition: Callable[[], bool], within: float = 30.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


@asynccontextmanager
async def running(relay: Relay) -> AsyncIterator[None]:
    task = asyncio.create_task(relay.run())
    try:
        yield
    finally:
        relay.drain()
        await asyncio.wait_for(task, 10)


def over_redis(home: Home, url: str) -> Relay:
    """As the app makes it: the engine is opened by the relay."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Engine]:
        engine = RedisEngine(url)
        await engine.open()
        try:
            yield engine
        finally:
            await engine.close()

    return Relay(home.store(), opened, 60.0)


def said(log: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in log.records if record.name == "penstock.relay"]


async def test_an_outage_of_the_engine_is_told_once_and_loses_nothing(
    place: Home, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(appendonly="yes") as server:
        engine = RedisEngine(server.url())
        await engine.migrate()
        relay = over_redis(place, server.url())
        async with running(relay):
            place.write(*(before := jobs(3)))
            await until(lambda: relay.dispatched == 3)
            await asyncio.to_thread(server.stop)
            place.write(*(meanwhile := jobs(3)))
            await until(lambda: len(said(caplog)) == 1)
            await asyncio.sleep(1.0)  # several tries
            await asyncio.to_thread(server.start)
            back_at = time.monotonic()
            await until(lambda: relay.dispatched == 6)
            assert time.monotonic() - back_at <= BOUND
        await engine.open()
        assert ids(await found(engine)) == ids([*before, *meanwhile])
        await engine.close()
    first, second = said(caplog)
    assert first.startswith("the engine is away, what is in the outbox waits: ")
    assert second.startswith("the engine is back after ")


async def test_a_relay_that_starts_before_the_engine_waits_for_it(
    place: Home, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(appendonly="yes") as server:
        await RedisEngine(server.url()).migrate()
        await asyncio.to_thread(server.stop)
        relay = over_redis(place, server.url())
        async with running(relay):
            place.write(new())
            await until(lambda: len(said(caplog)) == 1)
            await asyncio.to_thread(server.start)
            await until(lambda: relay.dispatched == 1, BOUND)


async def test_a_relay_told_to_end_during_an_outage_ends_at_once(place: Home) -> None:
    with RedisServer() as server:
        await RedisEngine(server.url()).migrate()
        relay = over_redis(place, server.url())
        task = asyncio.create_task(relay.run())
        place.write(new())
        await until(lambda: relay.dispatched == 1)
        await asyncio.to_thread(server.stop)
        place.write(new())
        await asyncio.sleep(1.0)
        relay.drain()
        assert await asyncio.wait_for(task, 2) == 1


async def test_an_outage_of_the_outbox_is_told_once_and_work_goes_on_soon_after(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with PostgresServer() as server, RedisServer(appendonly="yes") as redis:
        home = Home("postgresql", new_database(server.url()), EngineClock())
        await home.outbox.apply()
        await RedisEngine(redis.url()).migrate()
        relay = over_redis(home, redis.url())
        async with running(relay):
            home.write(new())
            await until(lambda: relay.dispatched == 1)
            await asyncio.to_thread(server.stop, "immediate")
            await until(lambda: len(said(caplog)) == 1)
            await asyncio.sleep(1.0)
            await asyncio.to_thread(server.start)
            back_at = time.monotonic()
            home.write(new())
            await until(lambda: relay.dispatched == 2)
            assert time.monotonic() - back_at <= BOUND
    first, second = said(caplog)
    assert first.startswith("the database of the outbox is away, what is in the outbox waits: ")
    assert second.startswith("the database of the outbox is back after ")


async def test_a_new_row_is_dispatched_at_once(place: Home) -> None:
    """Well before the next look that the relay would take by itself."""
    with RedisServer(appendonly="yes") as server:
        await RedisEngine(server.url()).migrate()
        relay = over_redis(place, server.url())
        async with running(relay):
            took = []
            for n in range(5):
                place.write(new())
                wrote_at = time.monotonic()
                await until(lambda n=n: relay.dispatched == n + 1)
                took.append(time.monotonic() - wrote_at)
                await asyncio.sleep(0.3)
    assert sorted(took)[2] < (0.2 if place.kind == "postgresql" else 0.5), took


async def test_the_log_tells_of_progress_and_of_refusals(
    place: Home, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock.relay")
    with RedisServer(appendonly="yes") as server:
        await RedisEngine(server.url()).migrate()
        relay = over_redis(place, server.url())
        strange = new()
        place.write(strange)
        place.run("update penstock_outbox set jobs = '[]'")
        place.write(*jobs(3))
        async with running(relay):
            await until(lambda: relay.dispatched == 3)
    assert any("is refused, tried again in" in line and "holds no job" in line for line in said(caplog))
    assert "3 outbox rows dispatched so far" in said(caplog)
