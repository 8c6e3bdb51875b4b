"""What a worker counts between two tellings, by queue and task. Cheap enough for every job."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from penstock.engine import Expired, Sample
from penstock.model.histogram import BOUNDS, BUCKETS
from penstock.model.job import Claim
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
_NEVER = datetime.min.replace(tzinfo=UTC)
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

    def took(self, waits: list[float], times: list[float]) -> None:
        """So long waited and took some runs. The lists are spoilt."""
        _fill(self.wait, waits)
        _fill(self.run, times)
        self.wait_sum += sum(
            waits[bisect_right(waits, 0.0) :]
        )  # clocks differ: some began before they were due
        self.run_sum += sum(times)

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
        row = self._row(queue, task)
        kind = type(outcome)
        if kind is Completed:
            row.completed += 1
        else:
            _count(row.others, outcome)
        if kind in _TIMED:
            row.took([wait], [ran_for])

    def completed(self, runs: Iterable[tuple[Claim, float, float]], since: float) -> None:
        """Runs were completed: each began so many seconds after `since`, and took so long."""
        waits: dict[tuple[str, str], list[float]] = defaultdict(list)
        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        due_at, due = _NEVER, 0.0
        for claim, started, ran_for in runs:
            if claim.due_at is not due_at:  # jobs put in together share theirs
                due_at = claim.due_at
                due = due_at.timestamp() - since
            kind = claim.queue, claim.task
            waits[kind].append(started - due)
            times[kind].append(ran_for)
        for kind, waited in waits.items():
            row = self._row(*kind)
            row.completed += len(waited)
            row.took(waited, times[kind])

    def taken_back(self, queue: str, task: str, outcome: Outcome) -> None:
        """A job was taken back from a worker that is gone."""
        _count(self._row(queue, task).others, outcome)

    def expired(self, job: Expired) -> None:
        """A job's time passed before it began: its own, or that for which it could wait for others."""
        counts = self._row(job.queue, job.task).others
        counts["missed" if job.missed else "expired"] += 1
        if job.state is State.FAILED:
            counts["failed"] += 1
            counts["dead"] += 1

    def add(self, queue: str, task: str, measure: str) -> None:
        """One more of something rare."""
        self._row(queue, task).others[measure] += 1

    def _row(self, queue: str, task: str) -> _Row:
        if (row := self._rows.get((queue, task))) is None:
            row = self._rows[queue, task] = _Row()
        return row

    def take(self, most: int) -> list[Sample]:
        """What was counted since this was last asked, of so many tasks; the others' next time."""
        taken = [self._rows.popitem() for _ in range(min(most, len(self._rows)))]
        return [Sample(queue, task, row.measures()) for (queue, task), row in taken]


def _fill(buckets: list[int], values: list[float]) -> None:
    """Count values in their buckets: sorted, whole runs of them go at once."""
    values.sort()
    at = 0
    while at < len(values):
        bucket = bisect_left(BOUNDS, values[at])
        end = bisect_right(values, BOUNDS[bucket], at) if bucket < len(BOUNDS) else len(values)
        buckets[bucket] += end - at
        at = end


def _count(counts: Counter[str], outcome: Outcome) -> None:
    if (measure := _MEASURES.get(type(outcome))) is not None:
        counts[measure] += 1
    if isinstance(outcome, Failed):
        counts["dead"] += 1  # its dead letter was written in the same step
    if outcome.rescued:
        counts["rescued"] += 1
    if outcome.error is not None and (found := json.loads(outcome.error).get("class")):
        counts[FAILURE + found] += 1
