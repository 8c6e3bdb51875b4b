"""Cron expressions: what is read, what is refused, and in which words."""
# ruff: noqa: DTZ001 - what a wall shows has no zone

from __future__ import annotations

import time
from datetime import datetime

import pytest

from penstock.model.cron import ALIASES, MAX_LENGTH, Cron
from penstock.model.errors import InvalidOption

SUNDAY = datetime(2026, 2, 1)


def following(expression: str, count: int = 3, after: datetime = SUNDAY) -> list[str]:
    cron, found, wall = Cron(expression), [], after
    for _ in range(count):
        wall = cron.next(wall)
        assert wall is not None
        found.append(f"{wall:%a %Y-%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("15 4 * * *", ["Sun 2026-02-01 04:15", "Mon 2026-02-02 04:15", "Tue 2026-02-03 04:15"]),
        ("*/20 * * * *", ["Sun 2026-02-01 00:20", "Sun 2026-02-01 00:40", "Sun 2026-02-01 01:00"]),
        ("0 9 * * MON-FRI", ["Mon 2026-02-02 09:00", "Tue 2026-02-03 09:00", "Wed 2026-02-04 09:00"]),
        ("0 9 * * 7", ["Sun 2026-02-01 09:00", "Sun 2026-02-08 09:00", "Sun 2026-02-15 09:00"]),
        ("0 0 29 2 *", ["Tue 2028-02-29 00:00", "Sun 2032-02-29 00:00", "Fri 2036-02-29 00:00"]),
        ("0 0 31 * *", ["Tue 2026-03-31 00:00", "Sun 2026-05-31 00:00", "Fri 2026-07-31 00:00"]),
        ("5/20 1 1 jan,jul *", ["Wed 2026-07-01 01:05", "Wed 2026-07-01 01:25", "Wed 2026-07-01 01:45"]),
        ("10-30/10 0 * * *", ["Sun 2026-02-01 00:10", "Sun 2026-02-01 00:20", "Sun 2026-02-01 00:30"]),
    ],
)  # fmt: skip
def test_an_expression_means_what_cron_means(expression, expected):
    assert following(expression) == expected


def test_of_two_day_fields_one_is_enough():
    assert following("0 0 13 * FRI", 4) == [
        "Fri 2026-02-06 00:00", "Fri 2026-02-13 00:00", "Fri 2026-02-20 00:00", "Fri 2026-02-27 00:00",
    ]  # fmt: skip
    assert following("0 0 2 * FRI", 2) == ["Mon 2026-02-02 00:00", "Fri 2026-02-06 00:00"]


def test_where_one_day_field_begins_with_a_star_both_must_fit():
    assert following("0 0 */2 * TUE", 2) == ["Tue 2026-02-03 00:00", "Tue 2026-02-17 00:00"]


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_what_it_stands_for(alias):
    assert following(alias.upper()) == following(ALIASES[alias])


@pytest.mark.parametrize(
    ("expression", "recurs"),
    [("* * * * *", True), ("*/5 3 * * *", True), ("0 */2 * * *", True), ("0 0-23 * * *", False)],
)  # fmt: skip
def test_a_star_in_the_minute_or_hour_makes_it_recur(expression, recurs):
    assert Cron(expression).recurs is recurs


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("@reboot", "five fields"),
        ("60 * * * *", "the minute is 0 to 59, not '60'"),
        ("* 24 * * *", "the hour is 0 to 23, not '24'"),
        ("* * 0 * *", "the day of month is 1 to 31, not '0'"),
        ("* * * 13 *", "the month is 1 to 12 or JAN to DEC, not '13'"),
        ("* * * * 8", "the day of week is 0 to 7 or SUN to SAT, not '8'"),
        ("* * * * MOON", "not 'MOON'"),
        ("*/0 * * * *", "a step of the minute is 1 to 60, not '0'"),
        ("*/x * * * *", "a step of the minute"),
        ("5-1 * * * *", "runs backwards"),
        ("1,,2 * * * *", "not ''"),
        ("-1 * * * *", "not ''"),
        ("1-2-3 * * * *", "not '2-3'"),
        ("٣ * * * *", "not '٣'"),
        ("99999999999 * * * *", "the minute is 0 to 59"),
        ("0 0 31 2 *", "no such month has 31 days"),
        ("0 0 30 FEB *", "no such month has 30 days"),
        ("0 0 31 4,6,9,11 *", "no such month has 31 days"),
    ],
)
def test_what_cannot_be_is_refused_and_says_why(expression, why):
    with pytest.raises(InvalidOption) as caught:
        Cron(expression)
    assert why in str(caught.value)
    assert repr(" ".join(expression.split())) in str(caught.value)


def test_a_day_that_never_comes_is_fine_beside_a_weekday():
    assert following("0 0 31 2 MON", 1) == ["Mon 2026-02-02 00:00"]


@pytest.mark.parametrize("bad", ["*," * MAX_LENGTH, "1-" * 200, "*/1" * 100, None, 5])
def test_what_is_too_long_or_no_text_is_refused_at_once(bad):
    began = time.perf_counter()
    with pytest.raises(InvalidOption, match="256"):
        Cron(bad)
    assert time.perf_counter() - began < 0.05


def test_the_calendar_ends():
    assert Cron("0 0 * * *").next(datetime(9999, 12, 31, 12)) is None
    assert Cron("0 0 29 2 *").next(datetime(9996, 3, 1)) is None
