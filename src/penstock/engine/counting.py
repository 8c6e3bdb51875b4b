"""Samples: what workers counted, added up by the minute and by the quarter of an hour."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from penstock.model.errors import InvalidOption
from penstock.model.names import check_name

SERIES_KEPT = 7 * 86_400.0  # seconds
QUARTER = 900.0  # seconds
MAX_SAMPLES = 1_000  # in one call
MAX_MEASURES = 200  # of one sample
MAX_ADDED = 1e15

_MEASURE = re.compile(r"[a-z][a-z0-9_:.-]{0,39}")

Sums: TypeAlias = dict[tuple[str, str], dict[str, float]]  # by queue and task, in this order


class Sample(NamedTuple):
    """What was counted of a task in a queue: the measures, each to be added to what there is of it."""

    queue: str
    task: str
    measures: Mapping[str, float]


class Minute(NamedTuple):
    """What was counted in one minute."""

    at: datetime  # its beginning
    queue: str
    task: str
    measures: Mapping[str, float]


class Quarter(NamedTuple):
    """What was counted in one quarter of an hour, of all tasks of a queue."""

    at: datetime  # its beginning
    queue: str
    measures: Mapping[str, float]


def sums_of(samples: Sequence[Sample]) -> Sums:
    """Samples of the same queue and task together; InvalidOption where one cannot be counted."""
    if len(samples) > MAX_SAMPLES:
        raise InvalidOption(f"at most {MAX_SAMPLES:,} samples are counted at once, not {len(samples):,}")
    sums: Sums = {}
    for sample in samples:
        _check(sample)
        if sample.measures:
            add(sums.setdefault((sample.queue, sample.task), {}), sample.measures)
    return dict(sorted(sums.items()))


def by_queue(sums: Sums) -> dict[str, dict[str, float]]:
    """The tasks of each queue together."""
    found: dict[str, dict[str, float]] = {}
    for (queue, _), measures in sums.items():
        add(found.setdefault(queue, {}), measures)
    return found


def add(to: dict[str, float], measures: Mapping[str, float]) -> None:
    for name, value in measures.items():
        to[name] = to.get(name, 0.0) + value


def _check(sample: Sample) -> None:
    check_name("queue", sample.queue)
    check_name("task", sample.task)
    if len(sample.measures) > MAX_MEASURES:
        raise InvalidOption(f"a sample has at most {MAX_MEASURES} measures, not {len(sample.measures):,}")
    for name, value in sample.measures.items():
        if not isinstance(name, str) or not _MEASURE.fullmatch(name):
            raise InvalidOption(
                f"measure {name!r} is not allowed; use lower case letters, digits and '_:.-', at most 40"
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_ADDED:
            raise InvalidOption(f"measure {name!r} takes a number from 0 to {MAX_ADDED:g}, not {value!r}")
