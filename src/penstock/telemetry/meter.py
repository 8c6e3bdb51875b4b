"""How long runs waited and took, told by OpenTelemetry's API where the program has set it up."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.model.outcome import Outcome
from penstock.telemetry.tracing import is_set_up

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
    """Of the program's own provider; None where it has set none up for OpenTelemetry's metrics."""
    loaded = sys.modules.get("opentelemetry.metrics")
    if loaded is None or not is_set_up(loaded.get_meter_provider()):
        return None
    return RunMeter(loaded.get_meter("penstock"))
