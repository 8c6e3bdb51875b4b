"""What a worker is told when it starts."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import time

from penstock.alerts.config import Alerting
from penstock.engine import Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Made by the front door from settings, declared queues and the command line."""

    queues: Mapping[str, int | None]  # queue -> how many of its jobs this worker runs at once, at most
    slots: int = 10
    lease: float = 30.0  # seconds without a heartbeat after which the worker is given up
    grace: float = 30.0  # seconds that running jobs get to finish when the worker stops
    fingerprints: Callable[[], Mapping[str, str]]  # the tasks this worker knows now, by signature
    retentions: tuple[Retention, ...] = ()
    clean_up_at: time = time(3)  # of the day, in UTC
    keep_dead: float = 30 * 86_400.0  # seconds
    keep_history: int = 100_000  # records of pruned jobs; 0: there is no history
    keep_history_for: float = 30 * 86_400.0  # seconds since the end; 0: there is no history
    keep_audit: float = 365 * 86_400.0  # seconds
    app_ref: str | None = None  # module:app, for jobs that run in a process of their own
    accept: frozenset[str] = frozenset()  # what is unsafe about the engine, and accepted by name
    limited: frozenset[str] = frozenset()  # queues from which less may be had than there are slots
    alerts: Alerting | None = None  # None: nobody watches
    unkept: frozenset[str] = field(default=frozenset())  # queues whose completed jobs leave no record
    metrics: bool = True  # whether what ends is counted
    now: Callable[[], float] = clock.time  # by the engine's clock, as near as this process knows it

    @property
    def remembers(self) -> bool:
        """Whether jobs are told of when their own records are gone."""
        return self.keep_history > 0 and self.keep_history_for > 0

    @property
    def beat_every(self) -> float:
        return min(2.0, self.lease / 3)
