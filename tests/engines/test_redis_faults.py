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
    ids,
    new,
    news,
    put,
    read,
    register,
    retried,
    settle,
    take,
    want,
)
from engines.redis_kit import fresh_engine
from penstock.engine import Level
from penstock.engines.redis import server as server_module
from penstock.engines.redis.engine import RedisEngine
from penstock.model.errors import (
    EngineError,
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


async def test_a_server_that_is_back_at_the_last_try_is_asked_though_it_has_no_scripts_any_more(monkeypatch):
    monkeypatch.setattr(server_module, "PAUSE", 0.001)
    async with fresh_engine() as engine:
        connected, away = engine._server._connected, server_module.TRIES - 1

        async def after_a_while():
            nonlocal away
            if away:
                away -= 1
                raise EngineUnavailable("it restarts")
            return await connected()

        await engine._server._wire.close()
        monkeypatch.setattr(engine._server, "_connected", after_a_while)
        redis_server().ask("SCRIPT", "FLUSH")
        await put(engine)
        assert away == 0
        assert await counts(engine) == {State.WAITING: 1}


async def test_scripts_that_are_flushed_all_the_time_are_a_problem_that_may_pass(monkeypatch):
    pauses = []
    monkeypatch.setattr(server_module, "PAUSE", 0.001)
    async with fresh_engine() as engine:
        understood = engine._server._understood

        async def and_flushed_again(error, script):
            found = await understood(error, script)
            pauses.append(script)
            if len(pauses) < 7:
                redis_server().ask("SCRIPT", "FLUSH")
            return found

        monkeypatch.setattr(engine._server, "_understood", and_flushed_again)
        redis_server().ask("SCRIPT", "FLUSH")
        await put(engine)
        assert await counts(engine) == {State.WAITING: 1}


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
