"""Statistics, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from penstock.web.shapes.fields import Count


class CountedView(BaseModel):
    """What workers have counted in a time."""

    model_config = ConfigDict(from_attributes=True)

    throughput_per_minute: float
    error_rate: float
    avg_processing_time_ms: float
    p50_processing_time_ms: float
    p95_processing_time_ms: float
    p99_processing_time_ms: float
    avg_wait_time_ms: float
    p50_wait_time_ms: float
    p95_wait_time_ms: float
    p99_wait_time_ms: float
    retries: float
    dead_letters: float
    rescued: float
    lost_leases: float
    timed_out: float
    expired: float
    missed_deadlines: float


class QueueStatsView(CountedView):
    queue: str
    waiting: Count
    active: Count
    completed: Count
    failed: Count
    delayed: Count
    blocked: Count
    cancelled: Count
    paused: bool
    oldest_waiting_s: float


class TaskStatsView(CountedView):
    queue: str
    task: str


class PointView(CountedView):
    at: datetime


class SeriesView(BaseModel):
    points: list[PointView]


class StatsView(BaseModel):
    """Everything at one moment."""

    model_config = ConfigDict(from_attributes=True)

    timestamp: datetime
    window_s: float
    queues: list[QueueStatsView]
    tasks: list[TaskStatsView]
    dlq_size: Count
    worker_count: Count
    relay_lag_s: float | None
    schedule_lateness_s: float
