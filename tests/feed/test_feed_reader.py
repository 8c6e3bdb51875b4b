"""Listening: nothing lost, nothing twice, or the word that something is missing; and never without bound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from feed.kit import (
    PATIENCE,
    an_event,
    hear_some,
    memory_engine,  # noqa: F401
    numbers,
    publish,
    quick_feed,  # noqa: F401
    settled,
    some_events,
)
from penstock.engine import Engine
from penstock.feed.listening import TTL, break_off, somebody_listens
from penstock.feed.reader import Feed
from penstock.feed.subscription import MAX_BUFFERED, EventFilter, Happened, Resync
from penstock.model.clock import FakeClock
from unit.runtime_kit import Flaky


async def test_who_listens_hears_what_happens_in_order(memory: Engine, feed: Feed) -> None:
    async with feed.subscribe() as listener:
        await settled(listener)
        await publish(memory, some_events(1, 2), some_events(3))
        assert numbers(await hear_some(listener, 3)) == [1, 2, 3]


async def test_who_comes_again_goes_on_where_it_was_without_loss_or_double(
    memory: Engine, feed: Feed
) -> None:
    async with feed.subscribe() as listener:
        await settled(listener)
        await publish(memory, some_events(1, 2, 3))
        heard = await hear_some(listener, 3)
    await publish(memory, some_events(4, 5))
    async with feed.subscribe(after=heard[1].cursor) as listener:
        await publish(memory, some_events(6))
        assert numbers(await hear_some(listener, 4)) == [3, 4, 5, 6]


async def test_who_comes_again_at_another_replica_goes_on_there(memory: Engine, feed: Feed) -> None:
    other = Feed(memory)
    async with feed.subscribe() as listener:
        place = await settled(listener)
        await publish(memory, some_events(1))
        async with other.subscribe(after=place) as elsewhere:
            assert numbers(await hear_some(elsewhere, 1)) == [1]
    await other.close()


async def test_who_was_away_for_more_than_a_buffer_holds_hears_all_of_it(memory: Engine, feed: Feed) -> None:
    async with feed.subscribe() as listener:
        place = await settled(listener)
    missed = range(2 * MAX_BUFFERED)
    await publish(memory, some_events(*missed[:1_000]), some_events(*missed[1_000:]))
    async with feed.subscribe(after=place) as listener:
        assert numbers(await hear_some(listener, len(missed))) == [*missed]


async def test_where_nobody_listened_meanwhile_the_returning_one_is_told_to_look(
    memory: Engine, feed: Feed, clock: FakeClock
) -> None:
    async with feed.subscribe() as listener:
        place = await settled(listener)
    clock.advance(TTL + 1)
    feed._renew_at = 0.0
    async with feed.subscribe(after=place) as listener:
        [resync] = await hear_some(listener, 1)
        assert isinstance(resync, Resync)
        assert resync.reason == "gap"


async def test_where_more_happened_than_is_kept_the_returning_one_is_told_to_look(
    memory: Engine, feed: Feed
) -> None:
    async with feed.subscribe() as listener:
        place = await settled(listener)
    await publish(memory, *[some_events(*range(1_000)) for _ in range(11)])
    async with feed.subscribe(after=place) as listener:
        heard = await hear_some(listener, 1)
        assert heard == [Resync("gap", heard[0].cursor)]


@pytest.mark.parametrize("cursor", ["", "7", "-", "x-y", "9" * 400 + "-a", "1-00000000", "٣-00000000"])
async def test_a_place_that_never_was_is_answered_with_a_look_at_the_jobs(feed: Feed, cursor: str) -> None:
    async with feed.subscribe(after=cursor) as listener:
        [resync] = await hear_some(listener, 1)
        assert isinstance(resync, Resync)


async def test_what_could_not_be_told_makes_everybody_look(memory: Engine, feed: Feed) -> None:
    async with feed.subscribe() as listener:
        await settled(listener)
        await break_off(memory)
        feed._renew_at = 0.0
        [resync] = await hear_some(listener, 1)
        assert isinstance(resync, Resync)
        assert resync.reason == "gap"


async def test_who_is_first_looks_once_more_when_everybody_knows_that_somebody_listens(
    memory: Engine,
) -> None:
    feed = Feed(memory, settled_after=0.6)
    async with feed.subscribe() as listener:
        await publish(memory, some_events(1))
        first, second = await hear_some(listener, 2)
        assert isinstance(first, Happened)
        assert isinstance(second, Resync)
        assert second.reason == "joined"
    await feed.close()


async def test_of_other_owners_nothing_is_heard(memory: Engine, feed: Feed) -> None:
    async with feed.subscribe(EventFilter(owner="ana")) as listener:
        place = await settled(listener)
        batch = [*some_events(1, owner="bob"), *some_events(2), *some_events(3, owner="ana")]
        await publish(memory, batch)
        assert numbers(await hear_some(listener, 1)) == [3]
    async with feed.subscribe(EventFilter(owner="ana"), after=place) as listener:
        assert numbers(await hear_some(listener, 1)) == [3]


async def test_a_filter_takes_only_what_it_names(memory: Engine, feed: Feed) -> None:
    mine = an_event(1)
    where = EventFilter(job_id=mine.job_id, queue="default", events=("progress",))
    async with feed.subscribe(where) as listener:
        await settled(listener)
        await publish(memory, [an_event(0), mine._replace(event="started"), mine])
        assert numbers(await hear_some(listener, 1)) == [1]


async def test_who_takes_nothing_is_cut_and_told_so_and_the_others_hear_on(
    memory: Engine, feed: Feed
) -> None:
    async with feed.subscribe() as slow, feed.subscribe() as quick:
        await settled(slow)
        await settled(quick)
        for _ in range(3):
            await publish(memory, some_events(*range(MAX_BUFFERED // 2)))
            await hear_some(quick, MAX_BUFFERED // 2)
        assert slow.cut
        assert len(slow._buffer) == 1
        [word] = await slow.take(0.0)
        assert isinstance(word, Resync)
        assert word.reason == "slow"
        assert await slow.take(0.0) == []


async def test_where_nobody_listens_nothing_is_read(memory: Engine) -> None:
    engine: Any = Flaky(memory)
    feed = Feed(engine, settled_after=0.0)
    async with feed.subscribe() as listener:
        await settled(listener)
    reading = feed._reading
    assert reading is not None
    await asyncio.wait_for(reading, PATIENCE)
    assert feed.listeners == 0
    await feed.close()


async def test_while_somebody_listens_it_is_known_to_others(
    memory: Engine, feed: Feed, clock: FakeClock
) -> None:
    assert not await somebody_listens(memory)
    async with feed.subscribe() as listener:
        await settled(listener)
        assert await somebody_listens(memory)
    clock.advance(TTL + 1)
    assert not await somebody_listens(memory)


async def test_an_outage_ends_no_stream(memory: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.model.errors import EngineUnavailable

    monkeypatch.setattr("penstock.feed.reader.AWAY", 0.01)
    engine: Any = Flaky(memory)
    feed = Feed(engine, settled_after=0.0)
    async with feed.subscribe() as listener:
        await settled(listener)
        engine.before["feed"] = [EngineUnavailable("away"), ValueError("unheard of")]
        await publish(memory, some_events(1))
        assert numbers(await hear_some(listener, 1)) == [1]
    await feed.close()


async def test_a_closed_feed_ends_its_listeners(feed: Feed) -> None:
    async with feed.subscribe() as listener:
        await settled(listener)
        await feed.close()
        assert listener.cut
        assert await listener.take(1.0) == []
