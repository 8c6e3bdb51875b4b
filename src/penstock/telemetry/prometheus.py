"""Metrics as text that Prometheus scrapes: gauges of the queues, counters and histograms of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from penstock.engine import Sample
from penstock.model.errors import MissingExtra
from penstock.model.histogram import BOUNDS
from penstock.model.states import State
from penstock.telemetry.metrics import Metrics, Snapshot, added, buckets

if TYPE_CHECKING:
    from prometheus_client.core import Metric

MAX_QUEUES = 500  # told of one by one; what more there is is told together, as OTHERS
MAX_TASKS = 1_000
OTHERS = "(others)"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "completed": ("jobs_completed", "Jobs completed"),
    "failed": ("jobs_failed", "Jobs that failed for good"),
    "retried": ("jobs_retried", "Attempts that failed and are tried again"),
    "snoozed": ("jobs_snoozed", "Runs that asked to run later"),
    "cancelled": ("jobs_cancelled", "Jobs cancelled while they ran"),
    "dead": ("dead_letters_written", "Dead letters written"),
    "rescued": ("jobs_rescued", "Jobs taken back from workers that were lost"),
    "lost": ("leases_lost", "Ends of runs refused because the job had passed on"),
    "timed_out": ("runs_timed_out", "Runs ended because they took too long"),
    "expired": ("jobs_expired", "Jobs whose expiry passed before they could begin"),
    "missed": ("deadlines_missed", "Jobs for which those they wait for were not done in time"),
}
_HISTOGRAMS = {
    "wait": ("job_wait_seconds", "From the due time of a job to the start of its run"),
    "run": ("job_run_seconds", "How long runs took"),
}


class _Ops(Protocol):
    @property
    def metrics(self) -> Metrics: ...


class Told(Protocol):
    """An app that is open."""

    @property
    def ops(self) -> _Ops: ...


async def prometheus_text(app: Told) -> bytes:
    """What `GET /metrics` answers, as CONTENT_TYPE."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("metrics for Prometheus need: pip install 'penstock[metrics]'") from error
    metrics = app.ops.metrics
    families = list(_families(await metrics.snapshot(), await metrics.totals()))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Found(families))
    return generate_latest(registry)


class _Found:
    """A collector of what was found."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(now: Snapshot, totals: Sequence[Sample]) -> Iterator[Metric]:
    yield from _of_queues(now)
    yield _gauge("dead_letters", "Dead letters that wait for somebody", now.dlq_size)
    yield _gauge("workers", "Workers that are alive", now.worker_count)
    yield _gauge("schedule_lateness_seconds", "How long a tick is overdue", now.schedule_lateness_s)
    if now.relay_lag_s is not None:
        yield _gauge("outbox_lag_seconds", "For how long the oldest row of the outbox waits", now.relay_lag_s)
    by_task = _bounded(totals)
    yield from _counters(by_task)
    yield from _histograms(by_task)


def _gauge(name: str, text: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    return GaugeMetricFamily(f"penstock_{name}", text, value)


def _of_queues(now: Snapshot) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    jobs = GaugeMetricFamily("penstock_jobs", "Jobs in the queue, by state", labels=["queue", "state"])
    paused = GaugeMetricFamily("penstock_queue_paused", "1 while the queue is paused", labels=["queue"])
    oldest = GaugeMetricFamily(
        "penstock_queue_oldest_waiting_seconds",
        "For how long the job that has waited longest was due",
        labels=["queue"],
    )
    for queue in now.queues[:MAX_QUEUES]:
        for state in State:
            jobs.add_metric([queue.queue, state.value], getattr(queue, state.value))
        paused.add_metric([queue.queue], float(queue.paused))
        oldest.add_metric([queue.queue], queue.oldest_waiting_s)
    for state in State:
        if more := now.queues[MAX_QUEUES:]:
            jobs.add_metric([OTHERS, state.value], sum(getattr(queue, state.value) for queue in more))
    yield from (jobs, paused, oldest)


def _bounded(totals: Sequence[Sample]) -> dict[tuple[str, str], Mapping[str, float]]:
    found: dict[tuple[str, str], Mapping[str, float]] = {
        (sample.queue, sample.task): sample.measures for sample in totals[:MAX_TASKS]
    }
    if more := totals[MAX_TASKS:]:
        found[OTHERS, OTHERS] = added(more)
    return found


def _counters(by_task: Mapping[tuple[str, str], Mapping[str, float]]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415 - as above

    for measure, (name, text) in _COUNTERS.items():
        family = CounterMetricFamily(f"penstock_{name}", text, labels=["queue", "task"])
        for labels, measures in by_task.items():
            family.add_metric(labels, measures.get(measure, 0.0))
        yield family


def _histograms(by_task: Mapping[tuple[str, str], Mapping[str, float]]) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily  # noqa: PLC0415 - as above

    bounds = [*map(str, BOUNDS), "+Inf"]
    for measure, (name, text) in _HISTOGRAMS.items():
        family = HistogramMetricFamily(f"penstock_{name}", text, labels=["queue", "task"])
        for labels, measures in by_task.items():
            up_to = list(zip(bounds, accumulate(buckets(measures, measure)), strict=True))
            family.add_metric(labels, up_to, measures.get(f"{measure}_sum", 0.0))
        yield family
