"""Connections die, servers restart, forget scripts, stall or fill up: what is told, and that work goes on."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest
import uvloop

from chaos.proxy import Proxy, redis_done
from conformance.kit import (
    QUEUE,
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
    read,
    register,
    retried,
    settle,
    state,
    take,
    want,
)
from engines.redis_kit import fresh_engine, keys
from penstock.engine import Level, Recovery, Retention
from penstock.engines.redis import server as server_module
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import (
    EngineError,
    EngineFull,
    EngineUnavailable,
    OutcomeUnknown,
    SchemaMissing,
    SchemaTooNew,
)
from penstock.model.states import State
from servers import RedisServer, free_port, redis_server


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that the test may stop, stall or fill."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def durable_server() -> Iterator[RedisServer]:
    """A server that keeps everything it has acknowledged."""
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        yield server


# -- connections ----------------------------------------------------------------------------------------


async def test_connections_that_were_killed_are_replaced_unnoticed(own_server):
    async with fresh_engine(own_server) as engine:
        await engine.enqueue([new()])
        await end_connections(own_server)
        await engine.enqueue([new()])
        assert await counts(engine) == {State.WAITING: 2}


async def end_connections(server: RedisServer) -> None:
    server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    await asyncio.sleep(0.01)  # the loop must hear of it, as it will in life


async def test_a_server_that_is_not_there_is_unavailable_and_its_address_told_without_secrets(caplog):
    caplog.set_level(logging.DEBUG)
    engine = RedisEngine(f"redis://ana:hush@127.0.0.1:{free_port()}/3", schema="x")
    with pytest.raises(EngineUnavailable) as told:
        await engine.open()
    await engine.close()
    shown = f"{told.value} {engine!r} {caplog.text} {engine._connector.address!r}"
    assert "127.0.0.1" in shown
    assert "hush" not in shown
    assert "ana" not in shown


async def test_a_wrong_password_is_told_at_once_and_not_repeated():
    with RedisServer(requirepass="right") as server:
        engine = RedisEngine(f"redis://:wr0ng@127.0.0.1:{server.port}", schema="x")
        with pytest.raises(EngineError, match="password") as told:
            await engine.open()
        await engine.close()
        assert not isinstance(told.value, EngineUnavailable)
        assert "wr0ng" not in str(told.value)
        async with fresh_engine(url=f"redis://:right@127.0.0.1:{server.port}") as engine:
            assert await put(engine)


async def test_an_engine_of_another_process_is_refused():
    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        pipe, theirs = multiprocessing.Pipe()
        pid = os.fork()
        if pid == 0:
            theirs.send(_try_in_child(engine))
            os._exit(0)
        told = pipe.recv()
        os.waitpid(pid, 0)
        assert "after fork" in told
        assert await put(engine)


def _try_in_child(engine: RedisEngine) -> str:
    try:
        engine._server._check_process()
    except EngineError as error:
        return str(error)
    return "nothing"


async def test_an_engine_that_is_not_open_says_so():
    with pytest.raises(EngineError, match="not open"):
        await RedisEngine(redis_server().url(), schema="x").enqueue([new()])


async def test_a_newer_layout_is_refused():
    async with fresh_engine() as engine:
        redis_server().ask("SADD", f"{{{engine.schema}}}:schema", "0999_later")
        again = RedisEngine(redis_server().url(), schema=engine.schema)
        with pytest.raises(SchemaTooNew, match="0999_later"):
            await again.open()
        with pytest.raises(SchemaTooNew):
            await again.migrate()
        await again.close()


async def test_a_prefix_that_was_never_used_is_told_apart_from_one_that_was():
    engine = RedisEngine(redis_server().url(), schema="never_used")
    with pytest.raises(SchemaMissing, match="penstock migrate"):
        await engine.open()
    assert {f.name: f.level for f in await engine.examine()}["schema"] is Level.OK
    await engine.close()


def test_it_works_on_uvloop():
    async def live() -> dict[State, int]:
        async with fresh_engine() as engine:
            await register(engine)
            waiting = asyncio.create_task(engine.wait([QUEUE], 30))
            await asyncio.sleep(0)
            held = await take(engine)
            await waiting
            assert await settle(engine, held)
            return await counts(engine)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(live()) == {State.COMPLETED: 1}


# -- restarts, scripts ----------------------------------------------------------------------------------


async def test_scripts_that_were_flushed_are_loaded_again():
    async with fresh_engine() as engine:
        await register(engine)
        for _ in range(3):
            redis_server().ask("SCRIPT", "FLUSH")
            held = await take(engine)
            redis_server().ask("SCRIPT", "FLUSH")
            assert await settle(engine, held)
        assert await counts(engine) == {State.COMPLETED: 3}


async def test_work_goes_on_after_a_restart_and_nothing_is_lost(durable_server):
    async with fresh_engine(durable_server) as engine:
        await register(engine, ttl=300)
        held = await take(engine)
        waiting = await put(engine)
        durable_server.restart("KILL")
        with suppress(OutcomeUnknown):
            await settle(engine, held)
        assert await settle(engine, held, again=True)
        assert ids(await claim(engine)) == [waiting]


async def test_a_server_that_comes_back_empty_gives_every_worker_up(own_server):
    async with fresh_engine(own_server) as engine:
        worker = await register(engine)
        held = await take(engine)
        own_server.restart("KILL")
        assert (await engine.beat(worker, 30)).given_up
        assert not await settle(engine, held)
        assert await put(engine)


async def test_a_stalled_server_is_waited_for(own_server):
    async with fresh_engine(own_server) as engine:
        own_server.ask("CLIENT", "PAUSE", 300)
        assert await put(engine)


async def test_a_call_that_overruns_its_time_is_cut_off_and_unknown(own_server, monkeypatch):
    monkeypatch.setattr(server_module, "CALL_SECONDS", 0.1)
    async with fresh_engine(own_server) as engine:
        own_server.ask("CLIENT", "PAUSE", 1_000)
        job = new()
        with pytest.raises(OutcomeUnknown):
            await engine.enqueue([job])
        own_server.ask("CLIENT", "UNPAUSE")
        assert (await engine.enqueue([job], again=True))[0].id == job.id
        assert await counts(engine) == {State.WAITING: 1}


async def test_a_replica_is_told_from_a_primary_and_nothing_is_doubled(own_server):
    async with fresh_engine(own_server) as engine:
        own_server.ask("REPLICAOF", "127.0.0.1", free_port())
        own_server.ask("CONFIG", "SET", "replica-serve-stale-data", "yes")
        with pytest.raises(EngineUnavailable):
            await engine.enqueue([new()])
        own_server.ask("REPLICAOF", "NO", "ONE")
        assert await put(engine)
        assert await counts(engine) == {State.WAITING: 1}


# -- lost answers -----------------------------------------------------------------------------------------


async def test_a_lost_answer_to_an_enqueue_is_unknown_and_the_job_is_made_once():
    with through_proxy() as proxy:
        async with fresh_engine(url=proxy.url(redis_server().url())) as engine:
            job, keyed = new(), new(key="k")
            proxy.arm(is_script, is_done, 1)
            with pytest.raises(OutcomeUnknown):
                await engine.enqueue([job, keyed])
            assert len(proxy.cut) == 1
            answers = await engine.enqueue([job, keyed], again=True)
            assert [(a.id, a.duplicate) for a in answers] == [(job.id, False), (keyed.id, False)]
            assert await counts(engine) == {State.WAITING: 2}


async def test_a_lost_answer_to_a_claim_is_undone_by_its_request():
    with through_proxy() as proxy:
        async with fresh_engine(url=proxy.url(redis_server().url())) as engine:
            worker = await register(engine)
            await engine.enqueue(news(3))
            asked = want()
            proxy.arm(is_script, is_done, 1)
            with pytest.raises(OutcomeUnknown):
                await engine.claim(asked)
            assert await engine.release(worker, asked.request) == 3
            assert await counts(engine) == {State.WAITING: 3}


async def test_a_lost_answer_to_a_settle_is_recognised():
    with through_proxy() as proxy:
        async with fresh_engine(url=proxy.url(redis_server().url())) as engine:
            await register(engine)
            await engine.enqueue(news(3))
            held = await claim(engine)
            ends = [end(held[0]), end(held[1], failed()), end(held[2], retried(60))]
            proxy.arm(is_script, is_done, 1)
            with pytest.raises(OutcomeUnknown):
                await engine.settle(ends)
            assert (await engine.settle(ends, again=True)).accepted == [True] * 3
            assert await engine.dead_count() == 1
            assert len((await read(engine, held[2].id)).errors) == 1


async def test_what_may_be_done_twice_is_tried_again_by_itself():
    with through_proxy() as proxy:
        async with fresh_engine(url=proxy.url(redis_server().url())) as engine:
            worker = await register(engine)
            proxy.arm(is_script, is_done, 1)
            assert not (await engine.beat(worker, 30)).given_up
            assert len(proxy.cut) == 1


async def test_a_claim_that_arrives_after_its_release_takes_nothing():
    async with fresh_engine() as engine:
        worker = await register(engine)
        await engine.enqueue([new()])
        assert await engine.release(worker, "lost") == 0
        assert await claim(engine, request="lost") == []
        assert len(await claim(engine)) == 1


def is_script(asked: bytes) -> bool:
    return b"EVALSHA" in asked


def is_done(answer: bytes) -> bool:
    return b"NOSCRIPT" not in answer


def through_proxy() -> Proxy:
    return Proxy("127.0.0.1", redis_server().port, redis_done)


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


DELETED = ("jobs", "runs", "counts", "kinds", "delayed", "keys", "workers", "held:worker-1", "dead")


@pytest.mark.parametrize("key", DELETED)
async def test_no_verb_breaks_when_a_key_is_deleted(own_server, key):
    async with fresh_engine(own_server) as engine:
        worker = await register(engine)
        await finish(engine, key="done")
        await finish(engine, outcome=failed())
        held = await take(engine, key="k", owner="o", expire_after=60)
        await engine.enqueue([new(delay=60), new(), new(key="waiting")])
        own_server.ask("DEL", f"{{{engine.schema}}}:{key}")
        await engine.beat(worker, 30)
        await register(engine, "w2")
        await engine.settle([end(held)], want(worker="w2"))
        await engine.enqueue([new(), new(key="k")])
        await engine.cancel([held.id], "no")
        await engine.stage(10)
        await engine.expire(10)
        await engine.rescue(10, gone)
        await engine.rescue_worker("w2", frozenset(), gone)
        await engine.prune(Retention(QUEUE, keep_completed=0, keep_failed=0), 10)
        await engine.purge(0, 10)
        await engine.tidy()
        await engine.examine()
        await engine.queues()
        await engine.workers()
        assert await state(engine, await put(engine)) is State.WAITING
