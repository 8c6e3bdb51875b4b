"""What was counted in the last 60 seconds: of this minute all, of the one before what still counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from penstock.engine import Minute

SECONDS = 60.0


class Recent(NamedTuple):
    """Sums of measures."""

    measures: Mapping[str, float]

    def __add__(self, other: object) -> Recent:
        assert isinstance(other, Recent)
        names = {*self.measures, *other.measures}
        return Recent({name: self.of(name) + other.of(name) for name in names})

    def of(self, name: str) -> float:
        return self.measures.get(name, 0.0)

    def whole(self, name: str) -> float:
        """A count, which has no halves."""
        return float(math.ceil(self.of(name) - 1e-9))

    @property
    def error_rate(self) -> float:
        ended = self.of("completed") + self.of("failed")
        return self.of("failed") / ended if ended else 0.0

    @property
    def throughput(self) -> float:
        return float(round(self.of("completed")))

    @property
    def processing_time(self) -> float:
        runs = sum(value for name, value in self.measures.items() if name.startswith("run:"))
        return self.of("run_sum") / runs if runs else 0.0


def recent(minutes: Iterable[Minute], now: datetime) -> dict[tuple[str, str], Recent]:
    """By queue and task. Of the minute before, the share that lies within the last 60 s."""
    found: dict[tuple[str, str], Recent] = {}
    for minute in minutes:
        age = (now - minute.at).total_seconds()
        share = min(1.0, max(0.0, (2 * SECONDS - age) / SECONDS))
        if share > 0:
            key = minute.queue, minute.task
            part = Recent({name: value * share for name, value in minute.measures.items()})
            found[key] = found[key] + part if key in found else part
    return found


def by_queue(tasks: Mapping[tuple[str, str], Recent]) -> dict[str, Recent]:
    """Of all tasks of a queue together."""
    found: dict[str, Recent] = {}
    for (queue, _), part in tasks.items():
        found[queue] = found[queue] + part if queue in found else part
    return found
