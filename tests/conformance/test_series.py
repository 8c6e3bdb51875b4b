"""Samples: added up by the minute and since ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.engine import SERIES_KEPT, Minute, Quarter, Sample
from penstock.engine.counting import MAX_MEASURES, MAX_SAMPLES, QUARTER
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
    wholes = {f"n{n}": 2**n + d for n in (0, 5, 7, 8, 15, 16, 31, 32, 49) for d in (-1, 0, 0.5)}
    measures = wholes | {"a": 0.1, "b": 1 / 3, "c": 1e15, "d": 1e-9, "e" * 40: 123456789.123456789, "f": 0}
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


async def test_quarters_of_an_hour_have_all_tasks_of_a_queue_together(engine, clock):
    first = datetime.fromtimestamp(clock.now().timestamp() // QUARTER * QUARTER, UTC)
    clock.advance((first - clock.now()).total_seconds() + QUARTER - 0.001)
    for _ in range(2):
        await engine.count(
            [Sample("b", "t", {"n": 1}), Sample("a", "u", {"n": 2, "x:1": 0.5}), Sample("a", "t", {"n": 4})]
        )
    clock.advance(0.001)
    await engine.count([Sample("a", "t", {"n": 8})])
    second = first + timedelta(seconds=QUARTER)
    told = [
        Quarter(first, "a", {"n": 12, "x:1": 1}),
        Quarter(first, "b", {"n": 2}),
        Quarter(second, "a", {"n": 8}),
    ]
    assert await engine.quarters(*EVER) == told
    assert await engine.quarters(*EVER, "b") == [told[1]]
    assert await engine.quarters(first, second) == told[:2]
    clock.advance((second - clock.now()).total_seconds() + SERIES_KEPT)
    await engine.tidy()
    assert await engine.quarters(*EVER) == told[2:]


async def test_nothing_counted_is_nothing_told(engine):
    await engine.count([])
    await engine.count([Sample("q", "t", {})])
    assert await engine.series(*EVER) == []
    assert await engine.totals() == []


async def test_what_cannot_be_counted_is_refused_whole(engine):
    for sample in (Sample("a b", "t", {"n": 1}), Sample("q", "t", {"N": 1}), Sample("q", "t", {"n": -1})):
        with pytest.raises(InvalidOption):
            await engine.count([Sample("q", "t", {"n": 1}), sample])
    assert await engine.totals() == []


async def test_the_largest_call_is_counted(engine):
    measures = {f"n{i}": 1.5 for i in range(MAX_MEASURES)}
    many = [Sample("q", f"t{n}", measures if n == 0 else {"n": 1}) for n in range(MAX_SAMPLES)]
    await engine.count(many)
    assert len(await engine.totals()) == MAX_SAMPLES
