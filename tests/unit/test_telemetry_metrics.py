"""Metrics are what the document says: over the last 60 seconds, 0 where nothing ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from runtime_kit import make_app

from penstock import Penstock
from penstock.engine import Sample
from penstock.model.clock import FakeClock
from penstock.model.errors import InvalidOption, PenstockError
from penstock.telemetry import prometheus
from penstock.telemetry.metrics import Metrics, QueueMetrics
from penstock.telemetry.prometheus import prometheus_text

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.fixture(name="app")
async def counting_app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("email")

    @made.task(queue="email")
    async def send() -> None: ...

    async with made:
        yield made


def clock_of(app: Penstock) -> FakeClock:
    clock = app._clock
    assert isinstance(clock, FakeClock)
    return clock


async def count(app: Penstock, task: str = "send", queue: str = "email", **measures: float) -> None:
    await app.engine.count(
        [Sample(queue, task, {name.replace("__", ":"): n for name, n in measures.items()})]
    )


async def email(app: Penstock, **more: Any) -> QueueMetrics:
    (found,) = [each for each in await app.ops.metrics.queues(**more) if each.queue == "email"]
    return found


async def test_a_queue_in_which_nothing_ended_has_no_errors_and_no_throughput(app: Penstock) -> None:
    found = await email(app)
    assert (found.error_rate, found.throughput_per_minute, found.p99_wait_time_ms) == (0.0, 0.0, 0.0)
    assert (found.queue, found.timestamp, found.paused) == ("email", NOON, False)


async def test_the_error_rate_is_failed_of_completed_and_failed(app: Penstock) -> None:
    await count(app, completed=3, failed=1, retried=5)
    found = await email(app)
    assert (found.error_rate, found.throughput_per_minute, found.retries) == (0.25, 3.0, 5.0)


async def test_of_the_minute_before_only_what_is_not_older_than_60_seconds_counts(app: Penstock) -> None:
    await count(app, completed=60)
    clock_of(app).advance(75)  # a quarter of the next minute: three quarters of this one are not too old
    await count(app, completed=1)
    assert (await email(app)).throughput_per_minute == 46.0
    clock_of(app).advance(45)
    assert (await email(app)).throughput_per_minute == 1.0


async def test_times_are_told_by_average_and_quantiles(app: Penstock) -> None:
    await count(app, run__6=90, run__9=10, run_sum=15.0, wait__0=100, wait_sum=0.05)
    found = await email(app)
    assert found.avg_processing_time_ms == 150.0
    assert 50 < found.p50_processing_time_ms <= 100
    assert 500 < found.p95_processing_time_ms < found.p99_processing_time_ms <= 1_000
    assert found.p99_wait_time_ms <= 1.0


async def test_a_queue_is_what_its_tasks_are_together(app: Penstock) -> None:
    await count(app, "a", completed=1)
    await count(app, "b", failed=1, dead=1, lost=2, rescued=3, timed_out=4)
    found = await email(app)
    assert (found.error_rate, found.dead_letters, found.lost_leases) == (0.5, 1, 2)
    assert (found.rescued, found.timed_out) == (3, 4)
    assert [(t.task, t.error_rate) for t in await app.ops.metrics.tasks()] == [("a", 0.0), ("b", 1.0)]


async def test_what_is_in_a_queue_now_is_told_with_the_age_of_the_oldest(app: Penstock) -> None:
    await app.aenqueue_many([app.tasks["send"].call(), app.tasks["send"].using(delay=500).call()])
    clock_of(app).advance(90)
    await app.ops.pause("email")
    found = await email(app)
    assert (found.waiting, found.delayed, found.active, found.paused) == (1, 1, 0, True)
    assert found.oldest_waiting_s == 90.0


async def test_one_queue_can_be_asked_for(app: Penstock) -> None:
    await count(app, completed=1)
    await count(app, completed=1, queue="default")
    assert [each.queue for each in await app.ops.metrics.queues(queue="email")] == ["email"]
    assert [each.queue for each in await app.ops.metrics.tasks(queue="email")] == ["email"]


async def test_a_longer_time_can_be_looked_back_on(app: Penstock) -> None:
    await count(app, completed=120)
    clock_of(app).advance(minutes=30)
    assert (await email(app, window=3_600)).throughput_per_minute == 2.0


async def test_a_series_has_equal_steps_up_to_now(app: Penstock) -> None:
    await count(app, completed=3)
    clock_of(app).advance(minutes=2)
    await count(app, completed=4, failed=4)
    points = await app.ops.metrics.series("hour", "email")
    assert len(points) == 60
    assert [(p.at, p.throughput_per_minute, p.error_rate) for p in points[-3:]] == [
        (NOON, 3.0, 0.0),
        (NOON + timedelta(minutes=1), 0.0, 0.0),
        (NOON + timedelta(minutes=2), 4.0, 0.5),
    ]
    for span, steps in (("day", 96), ("week", 84)):
        longer = await app.ops.metrics.series(span)  # type: ignore[arg-type]
        assert (len(longer), longer[-1].error_rate) == (steps, 4 / 11)


async def test_a_series_of_another_span_is_refused(app: Penstock) -> None:
    with pytest.raises(InvalidOption, match="hour, day, week"):
        await app.ops.metrics.series("year")  # type: ignore[arg-type]


async def test_a_schedule_whose_tick_is_overdue_is_late(app: Penstock) -> None:
    assert (await app.ops.metrics.snapshot()).schedule_lateness_s == 0.0
    await app.aupsert_schedule("nightly", app.tasks["send"], every=60)
    clock_of(app).advance(100)
    assert 30 <= (await app.ops.metrics.snapshot()).schedule_lateness_s <= 100


@pytest.mark.parametrize(("answer", "told"), [(4.5, 4.5), (PenstockError("away"), None)])
async def test_the_lag_of_the_relay_is_told_where_it_can_be_known(
    app: Penstock, answer: Any, told: float | None
) -> None:
    async def lag() -> float:
        if isinstance(answer, Exception):
            raise answer
        return float(answer)

    found = await Metrics(app.engine, lag=lag).snapshot()
    assert found.relay_lag_s == told


# -- Prometheus ---------------------------------------------------------------------------------------
async def scraped(app: Penstock) -> dict[tuple[str, ...], float]:
    text = (await prometheus_text(app)).decode()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_prometheus_reads_what_waits_and_what_was_ever_counted(app: Penstock) -> None:
    await app.tasks["send"].aenqueue()
    await count(app, completed=2, failed=1, dead=1, lost=3, run__0=2, run__21=1, run_sum=4_000.5)
    clock_of(app).advance(days=8)
    found = await scraped(app)
    assert found["penstock_jobs", "email", "waiting"] == 1
    assert found["penstock_queue_oldest_waiting_seconds", "email"] == 8 * 86_400
    assert found["penstock_jobs_completed_total", "email", "send"] == 2
    assert found["penstock_dead_letters_written_total", "email", "send"] == 1
    assert found["penstock_leases_lost_total", "email", "send"] == 3
    assert found["penstock_job_run_seconds_bucket", "0.001", "email", "send"] == 2
    assert found["penstock_job_run_seconds_bucket", "3600.0", "email", "send"] == 2
    assert found["penstock_job_run_seconds_bucket", "+Inf", "email", "send"] == 3
    assert found["penstock_job_run_seconds_count", "email", "send"] == 3
    assert found["penstock_job_run_seconds_sum", "email", "send"] == 4_000.5


async def test_the_labels_are_bounded_and_nothing_is_left_out(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "MAX_TASKS", 2)
    monkeypatch.setattr(prometheus, "MAX_QUEUES", 1)
    for n in range(5):
        await count(app, f"t{n}", completed=1)
    found = await scraped(app)
    assert found["penstock_jobs_completed_total", "(others)", "(others)"] == 3
    assert sum(value for name, value in found.items() if name[0] == "penstock_jobs_completed_total") == 5
    assert ("penstock_jobs", "(others)", "waiting") in found
    assert ("penstock_jobs", "email", "waiting") not in found
