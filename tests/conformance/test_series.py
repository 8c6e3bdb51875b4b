"""Samples: added up by the minute and since ever."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from conformance.kit import Place
from conformance.test_races import Meet, opened, together
from penstock.engine import SERIES_KEPT, Minute, Sample
from penstock.engine.counting import MAX_MEASURES, MAX_SAMPLES
from penstock.model.errors import InvalidOption

EVER = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def minute_of(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


async def test_what_is_counted_in_one_minute_is_added_up(engine, clock):
    at = minute_of(clock.now())
    await engine.count([Sample("mail", "send", {"completed": 2, "wait_sum": 0.25, "wait:3": 1})])
    await engine.count([Sample("mail", "send", {"completed": 1, "failed": 1, "wait_sum": 0.5})])
    counted = {"completed": 3, "wait_sum": 0.75, "wait:3": 1, "failed": 1}
    assert await engine.series(*EVER) == [Minute(at, "mail", "send", counted)]
    assert await engine.totals() == [Sample("mail", "send", counted)]


async def test_several_samples_of_one_task_in_one_call_are_added_up_too(engine):
    await engine.count(
        [Sample("q", "t", {"a": 1}), Sample("q", "u", {"a": 5}), Sample("q", "t", {"a": 2, "b": 0})]
    )
    assert await engine.totals() == [Sample("q", "t", {"a": 3, "b": 0}), Sample("q", "u", {"a": 5})]


async def test_minutes_are_told_by_time_queue_and_task(engine, clock):
    first = minute_of(clock.now())
    clock.advance((first + MINUTE - clock.now()).total_seconds() - 0.001)
    names = [("b", "t"), ("a", "u"), ("B", "t"), ("a", "T.x-1"), ("a_b", "t")]
    await engine.count([Sample(*name, {"n": 1}) for name in names])
    clock.advance(0.001)
    await engine.count([Sample(*name, {"n": 2}) for name in reversed(names)])
    expected = [Minute(first + n * MINUTE, *name, {"n": n + 1}) for n in (0, 1) for name in sorted(names)]
    assert await engine.series(*EVER) == expected
    assert await engine.series(first, first + MINUTE) == expected[:5]
    assert await engine.series(first + timedelta(microseconds=1), first + 2 * MINUTE) == expected[5:]
    assert await engine.series(first + 2 * MINUTE, first + 9 * MINUTE) == []
    assert await engine.series(*EVER, "a") == [m for m in expected if m.queue == "a"]
    assert await engine.series(*EVER, "nobody") == []
    assert await engine.totals() == [Sample(*name, {"n": 3}) for name in sorted(names)]


async def test_fractions_come_back_as_they_were(engine):
    measures = {"a": 0.1, "b": 1 / 3, "c": 1e15, "d": 1e-9, "e": 123456789.123456789, "f": 0}
    await engine.count([Sample("q", "t", measures)])
    [sample] = await engine.totals()
    assert sample.measures == measures
    [minute] = await engine.series(*EVER)
    assert minute.measures == measures


async def test_many_minutes_are_told(engine, clock):
    first = minute_of(clock.now())
    for _ in range(200):
        await engine.count([Sample("q", "t", {"n": 1}), Sample("r", "t", {"n": 1})])
        clock.advance(60)
    found = await engine.series(first, clock.now())
    assert [minute.at for minute in found] == [first + n // 2 * MINUTE for n in range(400)]


async def test_minutes_older_than_a_week_are_dropped_and_the_totals_stay(engine, clock):
    await engine.count([Sample("q", "t", {"n": 1})])
    clock.advance(60)
    await engine.count([Sample("q", "t", {"n": 10})])
    clock.advance((minute_of(clock.now()) - clock.now()).total_seconds() + SERIES_KEPT)
    await engine.tidy()
    assert [minute.measures for minute in await engine.series(*EVER)] == [{"n": 10}]
    clock.advance(0.001)
    await engine.tidy()
    assert await engine.series(*EVER) == []
    assert await engine.totals() == [Sample("q", "t", {"n": 11})]
    await engine.count([Sample("q", "t", {"n": 1})])
    assert len(await engine.series(*EVER)) == 1


async def test_nothing_counted_is_nothing_told(engine):
    await engine.count([])
    await engine.count([Sample("q", "t", {})])
    assert await engine.series(*EVER) == []
    assert await engine.totals() == []


@pytest.mark.parametrize(
    "sample",
    [
        Sample("a b", "t", {"n": 1}),
        Sample("q", "", {"n": 1}),
        Sample("q", "t", {"N": 1}),
        Sample("q", "t", {"": 1}),
        Sample("q", "t", {"a b": 1}),
        Sample("q", "t", {"n" * 41: 1}),
        Sample("q", "t", {"n": -1}),
        Sample("q", "t", {"n": float("nan")}),
        Sample("q", "t", {"n": float("inf")}),
        Sample("q", "t", {"n": True}),
        Sample("q", "t", {f"n{i}": 1 for i in range(MAX_MEASURES + 1)}),
    ],
    ids=lambda sample: str(sample)[:40],
)
async def test_what_cannot_be_counted_is_refused_whole(engine, sample):
    with pytest.raises(InvalidOption):
        await engine.count([Sample("q", "t", {"n": 1}), sample])
    assert await engine.totals() == []


async def test_a_call_counts_so_many_and_no_more(engine):
    measures = {f"n{i}": 1.5 for i in range(MAX_MEASURES)}
    many = [Sample("q", f"t{n}", measures if n == 0 else {"n": 1}) for n in range(MAX_SAMPLES)]
    await engine.count(many)
    assert len(await engine.totals()) == MAX_SAMPLES
    with pytest.raises(InvalidOption):
        await engine.count([*many, Sample("q", "t", {"n": 1})])


# -- races -----------------------------------------------------------------------------------------------


async def tell(place: Place, meet: Meet, names: list[str]) -> None:
    async with opened(place) as engine:
        await meet()
        for _ in range(40):
            await engine.count([Sample("q", name, {"n": 1, "sum": 0.5}) for name in names])


async def test_what_two_processes_count_at_once_is_all_there(shared_place):
    async with opened(shared_place, migrate=True) as engine:
        names = ["a", "b", "c"]
        await asyncio.to_thread(together, tell, shared_place, (names,), (names[::-1],))
        assert await engine.totals() == [Sample("q", name, {"n": 80, "sum": 40}) for name in names]
        minutes = await engine.series(*EVER)
        assert sum(minute.measures["n"] for minute in minutes) == 240
