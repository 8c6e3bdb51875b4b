"""What schedules will do in a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from penstock.model.planning import MOST_RUNS, Seam, runs_between, seams_between
from penstock.model.schedule import timing

DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_ticks_are_those_of_the_time_asked_for_and_none_before_the_next_one() -> None:
    nightly = timing(cron="0 3 * * *", tz="UTC")
    since = at("2026-01-01")
    found = runs_between(nightly, at("2026-01-03T03:00"), since, since + 5 * DAY)
    assert found.at == [at(f"2026-01-0{day}T03:00") for day in (3, 4, 5)]
    assert not found.more
    later = runs_between(nightly, at("2026-01-03T03:00"), at("2026-02-01T03:00"), at("2026-02-02"))
    assert later.at == [at("2026-02-01T03:00")]


def test_a_tick_that_is_due_by_an_older_timing_stands() -> None:
    nightly = timing(cron="0 3 * * *", tz="UTC")
    found = runs_between(nightly, at("2026-01-01T02:30"), at("2026-01-01"), at("2026-01-02"))
    assert found.at == [at("2026-01-01T02:30"), at("2026-01-01T03:00")]


def test_what_runs_all_the_time_is_told_by_its_first_ticks() -> None:
    found = runs_between(timing(every=5), at("2026-01-01"), at("2026-01-01"), at("2026-01-02"))
    assert (len(found.at), found.more) == (MOST_RUNS, True)


def test_clock_changes_are_told_with_their_direction() -> None:
    spring, autumn = at("2026-03-29T01:00"), at("2026-10-25T01:00")
    assert seams_between([BERLIN], at("2026-01-01"), at("2027-01-01")) == [
        Seam("Europe/Berlin", spring, 3600.0),
        Seam("Europe/Berlin", autumn, -3600.0),
    ]
    assert seams_between([BERLIN, ZoneInfo("UTC")], spring + DAY, spring + 8 * DAY) == []
