"""Memory that is full, and keys that somebody deleted: new jobs are refused whole, nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from conformance.kit import (
    QUEUE,
    after,
    claim,
    counts,
    end,
    failed,
    finish,
    gone,
    ids,
    new,
    news,
    put,
    register,
    retried,
    settle,
    state,
    take,
    want,
)
from engines.redis_kit import fresh_engine, keys
from penstock.engine import Group, Level, Recovery, Retention, ScheduleRow, Tick
from penstock.engines.redis.engine import RedisEngine
from penstock.model.breaker import Breaker
from penstock.model.errors import EngineFull
from penstock.model.job import FlowName
from penstock.model.limits import Limit
from penstock.model.states import State
from servers import RedisServer

DUE = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that the test may fill."""
    with RedisServer() as server:
        yield server


# -- memory -----------------------------------------------------------------------------------------------


async def test_a_full_server_refuses_new_jobs_whole_and_lets_the_running_end(own_server):
    async with fresh_engine(own_server) as engine:
        worker = await register(engine, ttl=300)
        await engine.enqueue(news(6))
        held = await claim(engine, limit=4)
        dead = await finish_one(engine, held[0])
        fill(own_server)
        before = await counts(engine), keys(engine, own_server)
        for jobs in ([new()], news(500), [new(key="k", owner="o", expire_after=5)]):
            with pytest.raises(EngineFull, match="maxmemory"):
                await engine.enqueue(jobs)
        with pytest.raises(EngineFull):
            await engine.recover([Recovery(dead, new().id)])
        assert (await counts(engine), keys(engine, own_server)) == before
        assert not (await engine.beat(worker, 300)).given_up
        ends = [end(held[1]), end(held[2], failed()), end(held[3], retried(60))]
        settled = await engine.settle(ends, want())
        assert (settled.accepted, len(settled.claims)) == ([True] * 3, 2)
        assert await engine.progress(settled.claims[0].id, settled.claims[0].token, '{"percent":1}')
        assert await engine.cancel([held[3].id], "no") == [State.CANCELLED]
        assert len(await engine.rescue_worker(worker, frozenset(), gone)) == 2
        assert await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0), 10) > 0


async def finish_one(engine: RedisEngine, held) -> str:
    assert await settle(engine, held, failed())
    return held.id


def fill(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "maxmemory", int(server.info("memory")["used_memory"]) - 1)


async def test_a_server_with_room_again_takes_jobs_again_without_a_restart(own_server):
    async with fresh_engine(own_server) as engine:
        fill(own_server)
        with pytest.raises(EngineFull):
            await engine.enqueue([new()])
        own_server.ask("CONFIG", "SET", "maxmemory", 0)
        assert await put(engine)


async def test_a_full_server_refuses_jobs_that_follow_and_keeps_the_run(own_server):
    async with fresh_engine(own_server) as engine:
        await register(engine, ttl=300)
        held, follower = await take(engine), new()
        room = int(own_server.ask("CONFIG", "GET", "maxmemory")[1])
        fill(own_server)
        with pytest.raises(EngineFull):
            await engine.settle([end(held, then=[follower])])
        assert await engine.save_step(held.id, held.token, "one", "1")
        assert await state(engine, held.id) is State.ACTIVE
        own_server.ask("CONFIG", "SET", "maxmemory", room)
        assert await settle(engine, held, then=[follower])
        assert await state(engine, follower.id) is State.WAITING


# -- keys that somebody deleted ---------------------------------------------------------------------------


async def test_a_record_that_is_gone_is_reported_and_makes_no_phantom(own_server, caplog):
    async with fresh_engine(own_server) as engine:
        await register(engine)
        jobs = news(3)
        await engine.enqueue(jobs)
        raw = bytes.fromhex(jobs[1].id.replace("-", ""))
        own_server.ask("HDEL", f"{{{engine.schema}}}:jobs", raw)
        findings = {f.name: f for f in await engine.examine()}
        assert findings["records"].level is Level.WARNING
        assert "evicted or deleted" in findings["records"].text
        assert ids(await claim(engine)) == [jobs[0].id, jobs[2].id]
        assert "no record" in caplog.text
        assert await counts(engine) == {State.ACTIVE: 2}
        assert {f.name: f.level for f in await engine.examine()}["records"] is Level.OK


DELETED = (
    "jobs", "runs", "counts", "kinds", "delayed", "keys", "workers", "held:worker-1", "dead", "more", "edges",
    "blocked", "flows", "flowlist", "limited", "standing", "grouped", "groups", "turn:default>task",
    "ready:default", "schedules", "due", "breakers", "circuits", "declared",
)  # fmt: skip


def tick() -> Tick:
    return Tick("nightly", DUE, DUE + timedelta(days=1), new(), overlap="queue")


async def live_with_everything(engine: RedisEngine, upstream: str) -> None:
    """Ties, limits, breakers and schedules beside the common jobs."""
    await engine.enqueue([new(ties=after(upstream, flow=FlowName(new().id, "course"), deadline=60))])
    await engine.put_groups([Group("default>task", per_key=Limit(concurrency=1), needs=("mail",))])
    await engine.put_breakers([Breaker(name="mail", threshold=1)])
    await engine.enqueue([new(lane=f"default>task>{key}") for key in "aab"])
    await engine.put_schedules([ScheduleRow(id="nightly", spec="{}", next_at=DUE)])


@pytest.mark.parametrize("key", DELETED)
async def test_no_verb_breaks_when_a_key_is_deleted(own_server, key):
    async with fresh_engine(own_server) as engine:
        worker = await register(engine)
        await finish(engine, key="done")
        await finish(engine, outcome=failed())
        held = await take(engine, key="k", owner="o", expire_after=60)
        await engine.enqueue([new(delay=60), new(), new(key="waiting")])
        await live_with_everything(engine, held.id)
        own_server.ask("DEL", f"{{{engine.schema}}}:{key}")
        await engine.beat(worker, 30)
        await register(engine, "w2")
        await engine.settle([end(held)], want(worker="w2"))
        await engine.enqueue([new(), new(key="k")])
        await engine.cancel([held.id], "no")
        await engine.stage(10)
        await engine.expire(10)
        await engine.fire(tick())
        await engine.report_breaker("mail", "permit", False)
        await engine.rescue(10, gone)
        await engine.rescue_worker("w2", frozenset(), gone)
        await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0), 10)
        await engine.purge(0, 10)
        await engine.tidy()
        await engine.examine()
        await engine.queues()
        await engine.workers()
        await engine.flows(10)
        await engine.groups()
        await engine.lanes("default>task", 10)
        await engine.breakers()
        await engine.due_schedules(10)
        assert await state(engine, await put(engine)) is State.WAITING
