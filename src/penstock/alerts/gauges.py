"""What stands at a moment, kept in the series, so that rules can be tried on the past."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.alerts.names import Scope
from penstock.alerts.rules import Subject
from penstock.engine import Sample

TASK = "_gauges"  # under this name, in every queue
LOOKS = "looks"  # how often was looked: sums are divided by it
PREFIX = "gauge:"
NAMES = (
    "waiting",
    "active",
    "delayed",
    "oldest_age",
    "worker_count",
    "expected_workers",
    "stalled_count",
    "dlq_size",
)


def gauges(subjects: Iterable[Subject]) -> list[Sample]:
    """One look at every queue."""
    return [
        Sample(subject.key, TASK, {LOOKS: 1.0} | {PREFIX + name: _number(subject, name) for name in NAMES})
        for subject in subjects
        if subject.scope is Scope.QUEUE
    ]


def at_minute(measures: Mapping[str, float]) -> dict[str, float]:
    """The averages over one minute."""
    looks = measures.get(LOOKS, 0.0)
    if not looks:
        return {}
    found = {name: measures[PREFIX + name] / looks for name in NAMES if PREFIX + name in measures}
    return {name: round(value, 6) for name, value in found.items()}


def _number(subject: Subject, name: str) -> float:
    value = subject.values.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
