"""Rules tried on the past: what the engine recorded minute by minute, as it would have been told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from alerts_kit import Looking, sink
from penstock import Penstock
from penstock.alerts.loading import parse
from penstock.engine import Sample
from penstock.model.clock import FakeClock


@pytest.fixture
async def looking() -> AsyncIterator[Looking]:
    clock = FakeClock()
    app = Penstock("sqlite://:memory:", clock=clock)
    app.queue("email")

    @app.task(queue="email")
    async def send() -> None: ...

    async with app, sink() as place:
        yield Looking(app, place, clock)


async def hour(looking: Looking, **measures: float) -> None:
    for _ in range(60):
        await looking.app.engine.count([Sample("email", "send", measures)])
        await looking.look(60)


async def test_a_rule_is_tried_on_what_was_counted_and_on_what_stood(looking: Looking) -> None:
    begin = looking.clock.now()
    await hour(looking, completed=100.0)
    await looking.app.aenqueue_many([looking.app.tasks["send"].call() for _ in range(50)])
    await hour(looking, completed=90.0, failed=10.0)
    await looking.app.worker().run(burst=True)
    await hour(looking, completed=100.0)

    tried = await looking.app.ops.alerts.test(
        parse("alerts: {queue_depth_high: {condition: waiting > 40 for 10m}, worker_down: off}")
    )
    found = {episode.rule: episode for episode in tried.episodes}
    assert found.keys() == {"queue_depth_high", "error_rate_high"}
    deep, errors = found["queue_depth_high"], found["error_rate_high"]
    assert deep.message == "Queue email depth high: 50 jobs waiting"
    assert errors.message == "Queue email error rate: 10%"
    an_hour, minutes = timedelta(hours=1), timedelta(minutes=3)
    assert abs(deep.fired_at - begin - an_hour - timedelta(minutes=10)) <= minutes
    assert abs(errors.fired_at - begin - an_hour) <= minutes
    assert errors.resolved_at is not None
    assert abs(errors.resolved_at - begin - 2 * an_hour) <= minutes
    assert tried.minutes == 181
    assert tried.not_tried["job_timeout"] == ["active_duration", "timeout_threshold"]


async def test_only_what_was_asked_for_is_gone_through(looking: Looking) -> None:
    await hour(looking, completed=1.0, failed=1.0)
    since = looking.clock.now() - timedelta(minutes=10)
    tried = await looking.app.ops.alerts.test(parse(""), since)
    (episode,) = [episode for episode in tried.episodes if episode.rule == "error_rate_high"]
    assert (tried.minutes, episode.resolved_at) == (11, None)
    assert episode.fired_at >= since


async def test_where_nothing_is_recorded_nothing_fires(looking: Looking) -> None:
    tried = await looking.app.ops.alerts.test(parse(""))
    assert (tried.minutes, tried.episodes) == (0, [])
