"""How long runs waited and took, told by OpenTelemetry's API where the program has loaded it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.model.outcome import Outcome

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


class RunMeter:
    """Two histograms; that of the runs counts the outcomes as well."""

    def __init__(self, meter: Meter) -> None:
        self._run = meter.create_histogram("penstock.job.run", "s", "How long runs took")
        self._wait = meter.create_histogram("penstock.job.wait", "s", "From the due time to the start")

    def record(self, queue: str, task: str, outcome: Outcome, wait: float, ran_for: float) -> None:
        """A run ended, and its end was accepted."""
        told = {"queue": queue, "task": task, "outcome": outcome.verb}
        self._run.record(ran_for, told)
        self._wait.record(max(0.0, wait), told)


def run_meter() -> RunMeter | None:
    """Of the program's own provider; None where it has not loaded OpenTelemetry's metrics."""
    if "opentelemetry.metrics" not in sys.modules:
        return None
    from opentelemetry import metrics  # noqa: PLC0415 - it is loaded already

    return RunMeter(metrics.get_meter("penstock"))
