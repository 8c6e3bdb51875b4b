"""Races between real processes over what is kept beside the jobs: notes, samples and the feed."""

from __future__ import annotations

import asyncio

import pytest

from conformance.kit import Place, make_id
from conformance.test_races import Meet, opened, together
from penstock.engine import JobEvent, Sample

ROUNDS = 50


pytestmark = pytest.mark.parametrize("shared_place", ["sqlite", "postgres", "redis"], indirect=True)


async def take_turns(place: Place, meet: Meet, names: list[str]) -> list[int]:
    """The rounds in which this process was the one that changed the note; each counts what it does."""
    async with opened(place) as engine:
        await meet()
        won = []
        for version in range(ROUNDS):
            while (found := await engine.note("turn", "one")) is not None and found.version < version:
                pass
            if await engine.put_note("turn", "one", "{}", expect=version) is not None:
                won.append(version)
            await engine.count([Sample("q", name, {"n": 1, "sum": 0.5}) for name in names])
            await engine.put_note("alert", "sum", "{}")
        return won


async def test_of_two_who_expect_one_version_one_changes_it_and_what_both_count_is_all_there(shared_place):
    names = ["a", "b", "c"]
    async with opened(shared_place, migrate=True) as engine:
        answers = await asyncio.to_thread(together, take_turns, shared_place, (names,), (names[::-1],))
        assert sorted(version for won in answers for version in won) == [*range(ROUNDS)]
        assert (await engine.note("turn", "one")).version == ROUNDS
        assert (await engine.note("alert", "sum")).version == 2 * ROUNDS
        assert await engine.totals() == [
            Sample("q", name, {"n": 2 * ROUNDS, "sum": ROUNDS}) for name in names
        ]


async def publish_or_read(place: Place, meet: Meet, name: str | None) -> list[tuple[int, str]]:
    """One who publishes under a name, or one who reads on until both have published all."""
    async with opened(place) as engine:
        cursor = (await engine.feed(None, 1)).cursor
        await meet()
        if name is not None:
            for n in range(ROUNDS):
                event = JobEvent("progress", make_id(), "q", "t", name, f'{{"n":{n}}}')
                await engine.publish([event, event])
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
