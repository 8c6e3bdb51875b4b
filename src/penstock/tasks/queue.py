"""A queue as declared: what its tasks inherit, how many run at once, and how much of the past is kept."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine import Retention
from penstock.model.limits import NO_LIMIT, Limit
from penstock.model.priority import Priority
from penstock.model.retry import Retry
from penstock.tasks.gate import Gate

DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One named line of jobs, every option resolved."""

    name: str
    concurrency: int | None  # at once per worker process; None: as many as there are slots
    retry: Retry
    timeout: float | None  # seconds
    priority: Priority
    retention: Retention
    gate: Gate
    limit: Limit = NO_LIMIT  # over all workers; with a `rate_key` for each key by itself
    rate_key: str | None = None
