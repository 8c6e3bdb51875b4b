"""Rescue on Redis where a record is damaged: that job stays, and is told; the others come back."""

from __future__ import annotations

import pytest

from conformance.kit import WORKER, claim, counts, gone, ids, news, register
from engines.redis_kit import fresh_engine, keys
from penstock.engines.redis import rescue
from penstock.engines.redis.codec import raw_id
from penstock.engines.redis.engine import RedisEngine
from penstock.model.clock import FakeClock
from penstock.model.states import State
from servers import REDIS_MAKES, redis_server


def damage(engine: RedisEngine, key: str, job: str, record: bytes, make: str) -> bytes:
    """Write another record in place of a job's; the one that was there."""
    server, name = redis_server(make), f"{{{engine.schema}}}:{key}"
    before: bytes = server.ask("HGET", name, raw_id(job))
    server.ask("HSET", name, raw_id(job), record)
    return before


@pytest.mark.parametrize("make", REDIS_MAKES)
@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize("key", ["jobs", "runs"])
async def test_a_job_with_a_damaged_record_holds_up_nobody_and_comes_back_when_it_is_mended(
    make, nth, key, caplog
):
    clock = FakeClock()
    async with fresh_engine(redis_server(make), clock=clock) as engine:
        await register(engine)
        await engine.enqueue(news(3))
        others = ids(await claim(engine))
        bad = others.pop(nth)
        before = damage(engine, key, bad, b"\0" * 24, make)
        clock.advance(31)
        rescued = await engine.rescue(10, gone)
        assert sorted(ids(rescued)) == others
        assert {job.state for job in rescued} == {State.WAITING}
        assert [r.getMessage().count(bad) for r in caplog.records if r.levelname == "ERROR"] == [1]
        assert await counts(engine) == {State.WAITING: 2, State.ACTIVE: 1}
        assert f"held:{WORKER}" in keys(engine, redis_server(make)), "nobody has forgotten what it holds"
        damage(engine, key, bad, before, make)
        assert ids(await engine.rescue(10, gone)) == [bad]
        assert await counts(engine) == {State.WAITING: 3}
        assert await engine.workers() == []


async def test_a_bad_job_does_not_end_the_emptying_of_a_worker_early(monkeypatch):
    monkeypatch.setattr(rescue, "STEP", 2)
    async with fresh_engine(redis_server("redis")) as engine:
        worker = await register(engine)
        await engine.enqueue(news(5))
        bad, *others = ids(await claim(engine))
        damage(engine, "runs", bad, b"\0" * 24, "redis")
        rescued = await engine.rescue_worker(worker, frozenset(), gone)
        assert sorted(ids(rescued)) == others
