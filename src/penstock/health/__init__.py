"""Whether all is well, judged by what moves, not by what is connected.

`HealthCheck` asks the engine; `judge` is what the answers mean. `liveness` and `readiness` are for probes:
cheap, and of this process alone.
"""

from __future__ import annotations

from penstock.health.check import HealthCheck
from penstock.health.judge import unreachable
from penstock.health.probes import Liveness, Pulse, Readiness, liveness
from penstock.health.report import (
    Health,
    Problem,
    QueueHealth,
    QueueStatus,
    Status,
    Thresholds,
    WorkerHealth,
    WorkerStatus,
)

__all__ = [
    "Health",
    "HealthCheck",
    "Liveness",
    "Problem",
    "Pulse",
    "QueueHealth",
    "QueueStatus",
    "Readiness",
    "Status",
    "Thresholds",
    "WorkerHealth",
    "WorkerStatus",
    "liveness",
    "unreachable",
]
