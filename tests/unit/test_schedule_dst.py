"""Schedules over clock changes, against a walk through every minute: see `dst_oracle`."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest
from dst_oracle import EXPRESSIONS, ZONES, around, changed_days, walk

from penstock.model.schedule import Timing, timing

YEARS = datetime(2015, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", ZONES)
def test_every_expression_runs_when_the_oracle_says_around_clock_changes(name):
    zone = ZoneInfo(name)
    days = changed_days(zone) or [datetime(2024, 2, 29, tzinfo=UTC)]
    some = {days[0], days[-1], *Random(name).sample(days, min(2, len(days)))}
    assert [line for day in sorted(some) for line in around(zone, day)] == []


def ticks(when: Timing, first: datetime, count: int) -> list[datetime]:
    found = when.upcoming(first)
    return [next(found) for _ in range(count)]


def wall(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%m-%d %H:%M}"


def test_a_skipped_time_runs_at_the_first_instant_after_the_gap():
    when = timing(cron="30 2 * * *", tz="America/New_York")
    found = ticks(when, datetime(2026, 3, 7, tzinfo=UTC), 3)
    assert [wall(at, "America/New_York") for at in found] == ["03-07 02:30", "03-08 03:00", "03-09 02:30"]


def test_a_midnight_that_sao_paulo_skipped_runs_at_one_o_clock():
    when = timing(cron="0 0 * * *", tz="America/Sao_Paulo")
    found = ticks(when, datetime(2018, 11, 3, 12, tzinfo=UTC), 2)
    assert [wall(at, "America/Sao_Paulo") for at in found] == ["11-04 01:00", "11-05 00:00"]


def test_a_time_that_comes_twice_runs_the_first_time():
    when = timing(cron="30 1 * * *", tz="America/New_York")
    found = ticks(when, datetime(2026, 10, 31, 12, tzinfo=UTC), 2)
    assert found == [datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 2, 6, 30, tzinfo=UTC)]


def test_asked_within_the_hour_that_comes_again_the_first_is_over():
    when = timing(cron="45 1 * * *", tz="America/New_York")
    assert when.next(datetime(2026, 11, 1, 6, 40, tzinfo=UTC)) == datetime(2026, 11, 2, 6, 45, tzinfo=UTC)


def test_what_recurs_goes_on_by_elapsed_time():
    when = timing(cron="*/30 * * * *", tz="Australia/Lord_Howe")
    day = changed_days(ZoneInfo("Australia/Lord_Howe"))[0]
    found = ticks(when, day, 100)
    assert {(b - a).total_seconds() for a, b in pairwise(found)} == {1_800}


def test_several_skipped_times_run_once_together():
    when = timing(cron="0,15,30,45 2 * * *", tz="Europe/Berlin")
    found = ticks(when, datetime(2026, 3, 29, tzinfo=UTC), 2)
    assert found == [datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 3, 30, 0, tzinfo=UTC)]


@pytest.mark.parametrize("name", ["Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe"])
def test_next_grows_from_every_minute_around_a_change(name):
    zone = ZoneInfo(name)
    [day, *_] = changed_days(zone)
    for expression in EXPRESSIONS:
        when = timing(cron=expression, tz=name)
        last = None
        for minute in walk(zone, day, day.replace(hour=12))[::17]:
            found = when.next(minute.at)
            assert found is not None
            assert found > minute.at
            assert last is None or found >= last
            last = found
