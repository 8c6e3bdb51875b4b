"""Priorities under load: low is late, never starved."""

import pytest

from conformance.kit import claim, end, new
from penstock.model.priority import HEAD_START, Priority

SECONDS = 20  # of one round
CAPACITY = 10  # jobs that are run in a round
STREAM = 12  # jobs of a higher priority that come in it: more than can ever be run


@pytest.mark.parametrize("above", [Priority.CRITICAL, Priority.HIGH, Priority.MEDIUM])
async def test_an_endless_stream_above_it_delays_a_low_job_by_no_more_than_the_head_start(
    engine, worker, clock, above
):
    low = new(priority=Priority.LOW)
    await engine.enqueue([low])
    began, waited = clock.now(), None
    gap = HEAD_START[above] - HEAD_START[Priority.LOW]  # seconds
    bound = gap * STREAM / CAPACITY + 2 * SECONDS
    while waited is None:
        await engine.beat(worker, 60)
        await engine.enqueue([new(priority=above) for _ in range(STREAM)])
        held = await claim(engine, limit=CAPACITY)
        if any(h.id == low.id for h in held):
            waited = (clock.now() - began).total_seconds()
        await engine.settle([end(h) for h in held])
        clock.advance(SECONDS)
        assert (clock.now() - began).total_seconds() <= bound + SECONDS, "it is starved"
    assert waited >= gap, "it was not late"
