"""Lengths of time and instants, as people say them."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.model.spans import moment, span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.42, "0.4 s"),
        (2.0, "2 s"),
        (9.96, "10 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3_600, "1 h"),
        (3_605, "1 h"),
        (7_500, "2 h 5 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_a_span_is_said_in_two_units_at_most(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_a_moment_is_said_with_how_far_it_is() -> None:
    now = datetime(2026, 3, 1, 4, 0, tzinfo=UTC)
    assert moment(now + timedelta(minutes=15), now) == "2026-03-01 04:15:00 UTC, in 15 min"
    assert moment(now - timedelta(seconds=5), now) == "2026-03-01 03:59:55 UTC, 5 s ago"
