"""Times counted in buckets of one fixed list of bounds, so that what any worker counted can be added up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

# Seconds, from 1 ms to 1 h. A bucket holds what is at most its bound and more than the one before; one more
# bucket holds what is beyond the last. They are stored by index: the list must stay as it is.
BOUNDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 3_600.0),
)
BUCKETS = len(BOUNDS) + 1


def bucket_of(seconds: float) -> int:
    """The index of the bucket in which a time is counted."""
    return bisect_left(BOUNDS, seconds)


def quantile(counts: Sequence[float], q: float) -> float:
    """The time that a share `q` of all does not pass, interpolated inside its bucket; 0 where there is none.

    It lies in the bucket of the exact one. What is beyond the last bound is told as that bound.
    """
    rank = q * sum(counts)
    below = 0.0
    for k, count in enumerate(counts):
        if count > 0 and below + count >= rank:
            return _inside(k, (rank - below) / count)
        below += count
    return 0.0


def _inside(k: int, share: float) -> float:
    if k == len(BOUNDS):
        return BOUNDS[-1]
    lower = BOUNDS[k - 1] if k else 0.0
    return lower + (BOUNDS[k] - lower) * share
