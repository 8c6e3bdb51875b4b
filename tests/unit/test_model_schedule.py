"""When schedules tick, and what becomes of ticks that were missed."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.errors import InvalidOption
from penstock.model.ids import is_id
from penstock.model.schedule import MOST_MADE_UP, Timing, judge, tick_id, timing

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
DAILY = timing(cron="15 4 * * *", tz="America/Sao_Paulo")  # 07:15 UTC
HOURLY = timing(every=HOUR)


def first(when: Timing, count: int, after: datetime = NOON) -> list[datetime]:
    found = when.upcoming(after)
    return [next(found) for _ in range(count)]


# -- when ----------------------------------------------------------------------------------------------


def test_an_interval_counts_from_1970():
    assert first(timing(every=timedelta(minutes=45)), 2) == [NOON + 45 * MINUTE, NOON + 90 * MINUTE]
    assert timing(every=86_400).next(NOON) == datetime(2026, 1, 6, tzinfo=UTC)


def test_an_interval_counts_from_its_start():
    start = NOON + timedelta(seconds=7.5)
    when = timing(every=90, start=start)
    assert first(when, 2) == [start, start + timedelta(seconds=90)]
    assert when.next(start) == start + timedelta(seconds=90)


def test_nothing_ticks_before_the_start_or_after_the_end():
    when = timing(cron="0 0 * * *", start=NOON + DAY, end=NOON + 3 * DAY)
    assert list(when.upcoming(NOON)) == [datetime(2026, 1, 7, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC)]
    exact = timing(every=DAY, start=NOON, end=NOON + DAY)
    assert list(exact.upcoming(NOON - DAY)) == [NOON, NOON + DAY]


def test_start_and_end_may_be_in_any_zone():
    there = timezone(timedelta(hours=-3))
    when = timing(every=DAY, start=NOON.astimezone(there), end=(NOON + DAY).astimezone(there))
    assert list(when.upcoming(NOON)) == [NOON + DAY]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "either cron= or every="),
        ({"cron": "* * * * *", "every": 5}, "either cron= or every="),
        ({"every": 0}, "at least 1 second"),
        ({"every": 0.5}, "at least 1 second"),
        ({"every": -1}, "every takes seconds"),
        ({"every": float("nan")}, "every takes seconds"),
        ({"every": "5"}, "every takes seconds"),
        ({"every": 10**12}, "ten years"),
        ({"cron": "0 0 31 2 *"}, "never run"),
        ({"cron": "* * * * *", "tz": "Europe/Berln"}, "no time zone 'Europe/Berln'"),
        ({"cron": "* * * * *", "tz": "../../etc/passwd"}, "no time zone"),
        ({"cron": "* * * * *", "tz": ""}, "no time zone"),
        ({"cron": "* * * * *", "tz": None}, "no time zone"),
        ({"every": 5, "start": NOON.replace(tzinfo=None)}, "start= takes a datetime with a time zone"),
        ({"every": 5, "end": "2026-01-01T23:59:60Z"}, "end= takes a datetime with a time zone"),
        ({"every": 5, "start": NOON, "end": NOON - HOUR}, "end= lies before start="),
        ({"every": 3_600, "start": NOON, "end": NOON, "cron": None}, None),
        ({"cron": "0 0 * * *", "start": NOON, "end": NOON + HOUR}, "never run"),
        (
            {"every": 5, "start": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))},
            "start= lies beyond the calendar",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_says_why(options, why):
    if why is None:
        assert timing(**options).next(NOON - HOUR) == NOON
        return
    with pytest.raises(InvalidOption, match=why):
        timing(**options)


@pytest.mark.parametrize("when", [DAILY, HOURLY, timing(cron="*/5 * * * *", tz="Pacific/Kiritimati")])
@pytest.mark.parametrize("year", [1, 2, 1969, 2038, 9998, 9999])
def test_edges_of_the_calendar_are_no_accident(when, year):
    for at in (datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)):
        found = when.next(at)
        assert found is None or found > at


@given(st.integers(0, 20 * 365 * 86_400), st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 1 * *"]))
def test_the_latest_is_the_one_that_nothing_follows(seconds, expression):
    when = timing(cron=expression, tz="Europe/Berlin")
    at = datetime(2015, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    [last] = when.latest(at)
    assert last <= at
    following = when.next(last)
    assert following is not None
    assert following > at
    assert when.before(following) == last


def test_the_latest_come_in_order_and_not_before_since():
    assert HOURLY.latest(NOON, 3) == [NOON - 2 * HOUR, NOON - HOUR, NOON]
    assert HOURLY.latest(NOON + MINUTE, 3, since=NOON - HOUR) == [NOON - HOUR, NOON]
    assert HOURLY.latest(NOON, 5, since=NOON + MINUTE) == []
    assert timing(every=DAY, start=NOON).before(NOON) is None


# -- missed --------------------------------------------------------------------------------------------


def played(when: Timing, due: datetime, now: datetime, missed: str) -> tuple[list[datetime], datetime | None]:
    """Fire until nothing is due: what ran, and when the next is."""
    ran, steps = [], 0
    at: datetime | None = due
    while at is not None and at <= now:
        verdict = judge(when, at, now, missed)
        assert verdict.next_at is None or verdict.next_at > at
        assert verdict.run or verdict.note
        ran += [at] if verdict.run else []
        at = verdict.next_at
        steps += 1
    assert steps <= MOST_MADE_UP + 1
    return ran, at


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
@pytest.mark.parametrize("late", [0, 0.05, 60])
def test_a_tick_that_is_hardly_late_runs(missed, late):
    due = DAILY.next(NOON)
    assert played(DAILY, due, due + timedelta(seconds=late), missed) == ([due], DAILY.next(due))


HOURS = [NOON + n * HOUR for n in range(27)]


@pytest.mark.parametrize(
    ("when", "missed", "expected"),
    [
        (HOURLY, "skip", []),
        (HOURLY, "once", HOURS[-1:]),
        (HOURLY, "all", HOURS),
        (timing(every=60), "skip", [NOON + 26 * HOUR + 5 * MINUTE]),
        (timing(every=60), "once", [NOON + 26 * HOUR + 5 * MINUTE]),
        (timing(every=60), "all", [NOON + 26 * HOUR + n * MINUTE for n in range(-94, 6)]),
        (timing(every=1), "all", [NOON + 26 * HOUR + timedelta(seconds=300 - n) for n in range(99, -1, -1)]),
        (timing(cron="0 12 * * *"), "skip", []),
        (timing(cron="0 12 * * *"), "once", [NOON + DAY]),
        (timing(cron="0 12 * * *"), "all", [NOON, NOON + DAY]),
    ],
)
def test_after_26_hours_away_each_policy_does_what_it_says(when, missed, expected):
    now = NOON + 26 * HOUR + 5 * MINUTE
    ran, following = played(when, NOON, now, missed)
    assert ran == expected
    assert following == when.next(now)


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
def test_the_last_of_a_schedule_may_be_missed_too(missed):
    when = timing(every=HOUR, start=NOON, end=NOON + HOUR)
    ran, following = played(when, NOON, NOON + 9 * HOUR, missed)
    assert ran == {"skip": [], "once": [NOON + HOUR], "all": [NOON, NOON + HOUR]}[missed]
    assert following is None


def test_a_tick_of_a_timing_that_was_changed_meanwhile_is_still_judged():
    due = NOON + MINUTE  # no tick of the new timing
    assert played(HOURLY, due, due, "skip") == ([due], NOON + HOUR)
    assert played(HOURLY, due, NOON + 30 * MINUTE, "skip") == ([], NOON + HOUR)
    assert played(HOURLY, due, NOON + 30 * MINUTE, "once") == ([due], NOON + HOUR)


# -- ids -----------------------------------------------------------------------------------------------


def test_a_ticks_id_is_the_same_whoever_computes_it():
    due = DAILY.next(NOON)
    there = due.astimezone(timezone(timedelta(hours=-3)))
    assert tick_id("nightly", due) == tick_id("nightly", there) == "019b9228-b520-7c1e-8ae5-938f57060857"


def test_ids_of_ticks_differ_and_grow_with_time():
    dues = first(timing(every=1), 200)
    found = [tick_id("a", due) for due in dues]
    assert found == sorted(set(found))
    assert all(is_id(each) for each in found)
    assert tick_id("a", dues[0]) != tick_id("b", dues[0])
    assert is_id(tick_id("a", datetime(1, 1, 1, tzinfo=UTC)))
    assert is_id(tick_id("a", datetime(9999, 12, 31, tzinfo=UTC)))


def test_names_do_not_run_into_each_other():
    rng = random.Random(5)
    names = {f"{rng.randrange(100)}-{rng.randrange(100)}" for _ in range(500)}
    assert len({tick_id(name, NOON) for name in names}) == len(names)
