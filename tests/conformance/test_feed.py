"""The feed: in order, bounded, and honest about what is not there."""

from __future__ import annotations

import pytest

from conformance.kit import make_id
from penstock.engine import FEED_KEPT, Engine, FeedPage, JobEvent
from penstock.engine.feeding import EVENTS, MAX_EVENTS
from penstock.model.errors import InvalidOption


def told(n: int = 0, event: str = "progress", **more: str | None) -> JobEvent:
    return JobEvent(event, make_id(), "mail", "app.send", body=f'{{"n":{n}}}', **more)


def some(count: int) -> list[JobEvent]:
    return [told(n) for n in range(count)]


def what(page: FeedPage) -> list[JobEvent]:
    return [event for _, _, event in page.events]


async def fill(engine: Engine, count: int) -> list[JobEvent]:
    events = some(count)
    for first in range(0, count, MAX_EVENTS):
        await engine.publish(events[first : first + MAX_EVENTS])
    return events


async def test_events_are_told_as_they_were_published_in_their_order(engine, clock):
    events = [told(n, event, owner="ana" if n % 2 else None) for n, event in enumerate(sorted(EVENTS))]
    start = (await engine.feed(None, 10)).cursor
    await engine.publish(events[:3])
    first = clock.now()
    clock.advance(1)
    await engine.publish(events[3:])
    page = await engine.feed(start, 100)
    assert what(page) == events
    assert [at for _, at, _ in page.events] == [first] * 3 + [clock.now()] * 4
    numbers = [number for number, _, _ in page.events]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > start
    assert page.cursor == numbers[-1]
    assert not page.gap


async def test_bodies_and_owners_may_hold_any_text(engine):
    events = [
        told(owner="größe '\" 日本\n\t"),
        told()._replace(body='{"m":"a\\u0000b 日本 \\"x\\" \U0001f600"}'),
    ]
    await engine.publish(events)
    assert what(await engine.feed(0, 10)) == events


async def test_who_asks_for_no_number_is_told_only_where_the_feed_stands(engine):
    nothing = await engine.feed(None, 10)
    assert (nothing.events, nothing.gap) == ([], False)
    await engine.publish(some(3))
    now = await engine.feed(None, 10)
    assert (now.events, now.gap) == ([], False)
    assert await engine.feed(now.cursor, 10) == FeedPage([], now.cursor, False)
    [event] = some(1)
    await engine.publish([event])
    assert what(await engine.feed(now.cursor, 10)) == [event]


async def test_who_was_there_before_the_first_event_misses_nothing(engine):
    start = await engine.feed(None, 10)
    assert await engine.feed(start.cursor, 10) == FeedPage([], start.cursor, False)
    events = some(2)
    await engine.publish(events)
    page = await engine.feed(start.cursor, 10)
    assert what(page) == events
    assert not page.gap


async def test_the_feed_is_read_a_page_at_a_time(engine):
    events = some(10)
    await engine.publish(events)
    cursor, found = 0, []
    while (page := await engine.feed(cursor, 3)).events:
        assert len(page.events) <= 3
        assert not page.gap
        found += what(page)
        cursor = page.cursor
    assert found == events
    assert page.cursor == cursor


async def test_the_latest_are_kept_and_who_comes_too_late_is_told_of_the_gap(engine):
    start = (await engine.feed(None, 1)).cursor
    events = await fill(engine, 600)
    early = (await engine.feed(start, 1)).cursor
    events += await fill(engine, FEED_KEPT - 600)
    assert not (await engine.feed(start, 1)).gap  # exactly as many as are kept
    events += await fill(engine, 500)
    for after in (0, start, early):
        page = await engine.feed(after, FEED_KEPT * 2)
        assert page.gap
        assert what(page) == events[-FEED_KEPT:]
    oldest = page.events[0][0]
    assert not (await engine.feed(oldest, 1)).gap
    assert not (await engine.feed(page.cursor, 1)).gap


async def test_a_number_that_the_feed_has_not_come_to_is_a_gap(engine):
    for _ in range(2):
        now = (await engine.feed(None, 1)).cursor
        page = await engine.feed(now + 1_000_000, 10)
        assert page == FeedPage([], now, True)
        assert not (await engine.feed(page.cursor, 1)).gap
        await engine.publish(some(2))


async def test_nothing_published_is_nothing_told(engine):
    await engine.publish([])
    assert (await engine.feed(0, 10)).events == []


async def test_what_cannot_be_told_is_refused_whole(engine):
    for event in (told(event="exploded"), told()._replace(body="[]"), told()._replace(queue="a b")):
        with pytest.raises(InvalidOption):
            await engine.publish([told(), event])
    assert (await engine.feed(0, 10)).events == []
