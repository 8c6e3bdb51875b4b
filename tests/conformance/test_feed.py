"""The feed: in order, bounded, and honest about what is not there."""

from __future__ import annotations

import asyncio

import pytest

from conformance.kit import Place, make_id
from conformance.test_races import Meet, opened, together
from penstock.engine import FEED_KEPT, Engine, FeedPage, JobEvent
from penstock.engine.feeding import EVENTS, MAX_EVENT_BYTES, MAX_EVENTS
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
    events = await fill(engine, 1_500)
    early = (await engine.feed(start, 1)).cursor
    events += await fill(engine, FEED_KEPT - 1_000)
    for after in (0, start, early):
        page = await engine.feed(after, FEED_KEPT * 2)
        assert page.gap
        assert what(page) == events[-FEED_KEPT:]
    oldest = page.events[0][0]
    assert not (await engine.feed(oldest, 1)).gap
    assert not (await engine.feed(page.events[-1][0], 1)).gap
    just_before = await engine.feed(oldest - 1, 1)
    assert what(just_before) == [events[-FEED_KEPT]]


async def test_exactly_as_many_as_are_kept_leave_no_gap(engine):
    start = (await engine.feed(None, 1)).cursor
    first = [told()]
    await engine.publish(first)
    await fill(engine, FEED_KEPT - 1)
    page = await engine.feed(start, 1)
    assert (what(page), page.gap) == (first, False)
    await engine.publish([told()])
    assert (await engine.feed(start, 1)).gap


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


@pytest.mark.parametrize(
    "event",
    [
        told(event="exploded"),
        told()._replace(job_id=""),
        told()._replace(job_id="x" * 300),
        told()._replace(queue="a b"),
        told()._replace(task=""),
        told(owner=""),
        told(owner="a\0b"),
        told()._replace(body="[]"),
        told()._replace(body="{"),
        told()._replace(body='{"x":"' + "x" * MAX_EVENT_BYTES + '"}'),
    ],
    ids=lambda event: str(event)[:50],
)
async def test_what_cannot_be_told_is_refused_whole(engine, event):
    with pytest.raises(InvalidOption):
        await engine.publish([told(), event])
    assert (await engine.feed(0, 10)).events == []


async def test_a_call_tells_so_many_and_no_more(engine):
    with pytest.raises(InvalidOption):
        await engine.publish(some(MAX_EVENTS + 1))


# -- races -----------------------------------------------------------------------------------------------

ROUNDS = 60


async def publish_or_read(place: Place, meet: Meet, name: str | None) -> list[tuple[int, str]]:
    """One who publishes under a name, or one who reads on until both have published all."""
    async with opened(place) as engine:
        cursor = (await engine.feed(None, 1)).cursor
        await meet()
        if name is not None:
            for n in range(ROUNDS):
                await engine.publish([told(n, owner=name), told(n, owner=name)])
            return []
        seen: list[tuple[int, str]] = []
        while len(seen) < ROUNDS * 4:
            page = await engine.feed(cursor, 7)
            assert not page.gap
            seen += [(number, f"{event.owner} {event.body}") for number, _, event in page.events]
            cursor = page.cursor
        return seen


async def test_a_reader_misses_nothing_that_two_processes_publish_at_once(shared_place):
    async with opened(shared_place, migrate=True):
        parts = (("one",), ("two",), (None,))
        work = asyncio.to_thread(together, publish_or_read, shared_place, *parts)
        [*_, seen] = await asyncio.wait_for(work, 60)
        numbers = [number for number, _ in seen]
        assert numbers == sorted(set(numbers))
        for name in ("one", "two"):
            mine = [text for _, text in seen if text.startswith(name)]
            assert mine == [f'{name} {{"n":{n}}}' for n in range(ROUNDS) for _ in range(2)]
