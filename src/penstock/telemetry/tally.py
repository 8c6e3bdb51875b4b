"""What a worker counts between two tellings, by queue and task. Cheap enough for every job."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter

from penstock.engine import Expired, Sample
from penstock.model.histogram import BOUNDS, BUCKETS
from penstock.model.outcome import Cancelled, Completed, Failed, Outcome, Retried, Snoozed
from penstock.model.states import State

# Of the outcome of a run, the measure that it adds to.
_MEASURES: dict[type[Outcome], str] = {
    Completed: "completed",
    Retried: "retried",
    Failed: "failed",
    Snoozed: "snoozed",
    Cancelled: "cancelled",
}
FAILURE = "failure:"  # before the class of the failure of a run, whatever became of its job
_TIMED = frozenset({Completed, Retried, Failed})  # whose times are told: their handlers came to an end


class _Row:
    """What is counted of one task in one queue."""

    __slots__ = ("completed", "others", "run", "run_sum", "wait", "wait_sum")

    def __init__(self) -> None:
        self.completed = 0
        self.others: Counter[str] = Counter()
        self.wait = [0] * BUCKETS
        self.run = [0] * BUCKETS
        self.wait_sum = 0.0
        self.run_sum = 0.0

    def measures(self) -> dict[str, float]:
        found: dict[str, float] = {"completed": self.completed, **self.others}
        found |= {"wait_sum": self.wait_sum, "run_sum": self.run_sum}
        found |= {f"wait:{k}": n for k, n in enumerate(self.wait)}
        found |= {f"run:{k}": n for k, n in enumerate(self.run)}
        return {name: value for name, value in found.items() if value}


class Tally:
    """Touched by one event loop only."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], _Row] = {}

    def run(self, queue: str, task: str, outcome: Outcome, wait: float, ran_for: float) -> None:
        """A run ended, and its end was accepted."""
        try:
            row = self._rows[queue, task]
        except KeyError:
            row = self._rows[queue, task] = _Row()
        kind = type(outcome)
        if kind is Completed:
            row.completed += 1
        else:
            _count(row.others, outcome)
            if kind not in _TIMED:
                return
        if wait > 0:  # clocks differ
            row.wait_sum += wait
        row.wait[bisect_left(BOUNDS, wait)] += 1
        row.run_sum += ran_for
        row.run[bisect_left(BOUNDS, ran_for)] += 1

    def taken_back(self, queue: str, task: str, outcome: Outcome) -> None:
        """A job was taken back from a worker that is gone."""
        _count(self._rows.setdefault((queue, task), _Row()).others, outcome)

    def expired(self, job: Expired) -> None:
        """A job's time passed before it began: its own, or that for which it could wait for others."""
        counts = self._rows.setdefault((job.queue, job.task), _Row()).others
        counts["missed" if job.missed else "expired"] += 1
        if job.state is State.FAILED:
            counts["failed"] += 1
            counts["dead"] += 1

    def add(self, queue: str, task: str, measure: str) -> None:
        """One more of something rare."""
        self._rows.setdefault((queue, task), _Row()).others[measure] += 1

    def take(self, most: int) -> list[Sample]:
        """What was counted since this was last asked, of so many tasks; the others' next time."""
        taken = [self._rows.popitem() for _ in range(min(most, len(self._rows)))]
        return [Sample(queue, task, row.measures()) for (queue, task), row in taken]


def _count(counts: Counter[str], outcome: Outcome) -> None:
    if (measure := _MEASURES.get(type(outcome))) is not None:
        counts[measure] += 1
    if isinstance(outcome, Failed):
        counts["dead"] += 1  # its dead letter was written in the same step
    if outcome.rescued:
        counts["rescued"] += 1
    if outcome.error is not None and (found := json.loads(outcome.error).get("class")):
        counts[FAILURE + found] += 1
