"""Quantiles from buckets lie where the exact ones do."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.histogram import BOUNDS, BUCKETS, bucket_of, quantile

times = st.lists(st.floats(0.0, 5_000.0), min_size=1, max_size=200)
shares = st.floats(0.01, 1.0)


def counted(values: list[float]) -> list[float]:
    counts = [0.0] * BUCKETS
    for value in values:
        counts[bucket_of(value)] += 1
    return counts


def exact(values: list[float], q: float) -> float:
    return sorted(values)[max(0, ceil(q * len(values)) - 1)]


@given(times, shares)
def test_a_quantile_lies_in_the_bucket_of_the_exact_one(values: list[float], q: float) -> None:
    k = bucket_of(exact(values, q))
    lower, upper = BOUNDS[k - 1] if k else 0.0, BOUNDS[min(k, len(BOUNDS) - 1)]
    assert lower - 1e-9 <= quantile(counted(values), q) <= upper + 1e-9


@given(times, shares, shares)
def test_a_greater_share_has_no_smaller_quantile(values: list[float], p: float, q: float) -> None:
    counts = counted(values)
    assert quantile(counts, min(p, q)) <= quantile(counts, max(p, q)) + 1e-9


@given(times, times, shares)
def test_what_two_workers_counted_adds_up(one: list[float], other: list[float], q: float) -> None:
    added = [a + b for a, b in zip(counted(one), counted(other), strict=True)]
    assert quantile(added, q) == quantile(counted([*one, *other]), q)


def test_where_nothing_is_counted_a_quantile_is_0() -> None:
    assert quantile([0.0] * BUCKETS, 0.95) == 0.0


@pytest.mark.parametrize(
    ("seconds", "index"), [(0.0, 0), (0.001, 0), (0.0011, 1), (3_600.0, 20), (3_601.0, 21)]
)
def test_a_bucket_holds_what_is_at_most_its_bound(seconds: float, index: int) -> None:
    assert bucket_of(seconds) == index


def test_the_bounds_grow_from_a_millisecond_to_an_hour() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert (BOUNDS[0], BOUNDS[-1]) == (0.001, 3_600.0)
