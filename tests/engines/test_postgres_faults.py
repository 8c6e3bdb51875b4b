"""Sessions die, servers restart or turn read-only: what the caller is told, and that work goes on."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator

import pytest

from conformance.kit import QUEUE, claim, counts, end, new, news, register, settle, state, take, want
from engines.postgres_kit import ask, connect, end_backends, fresh_engine, until_listening
from penstock.engines.postgres import listener, pool
from penstock.engines.postgres.engine import PostgresEngine
from penstock.engines.postgres.pool import Overruns
from penstock.model.errors import (
    EngineError,
    EngineUnavailable,
    InvalidOption,
    OutcomeUnknown,
    SchemaMissing,
    SchemaTooNew,
)
from penstock.model.states import State
from servers import PostgresServer, fresh_schema, postgres_server


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    with PostgresServer() as server:
        yield server


async def test_idle_sessions_that_were_terminated_are_replaced_unnoticed():
    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        assert await end_backends(engine) >= 1
        await engine.enqueue([new()])
        assert await counts(engine) == {State.WAITING: 2}


async def test_an_enqueue_cut_off_in_flight_is_unknown_and_repeatable():
    async with fresh_engine() as engine, await connect() as blocker:
        await blocker.execute("begin")
        await blocker.execute(f"lock table {engine.schema}.jobs in access exclusive mode")
        job = new()
        enqueueing = asyncio.create_task(engine.enqueue([job]))
        await until_blocked(engine)
        assert await end_backends(engine, "%enqueue%") == 1
        with pytest.raises(OutcomeUnknown):
            await enqueueing
        await blocker.execute("rollback")
        assert (await engine.enqueue([job], again=True))[0].id == job.id
        assert await counts(engine) == {State.WAITING: 1}


async def test_a_claim_that_arrives_after_its_release_takes_nothing():
    async with fresh_engine() as engine:
        worker = await register(engine)
        await engine.enqueue([new()])
        assert await engine.release(worker, "lost") == 0
        with pytest.raises(EngineError):
            await claim(engine, request="lost")
        assert len(await claim(engine)) == 1


async def test_a_table_locked_for_long_is_reported_and_nothing_happened(monkeypatch):
    async with fresh_engine() as engine, await connect() as blocker:
        monkeypatch.setattr(pool, "_SESSION", "-c lock_timeout=2s -c statement_timeout=100ms -c timezone=UTC")
        await engine._pool.drop_idle()  # now that it is migrated, which may take longer
        await blocker.execute("begin")
        await blocker.execute(f"lock table {engine.schema}.jobs in access exclusive mode")
        with pytest.raises(EngineUnavailable, match="nothing happened"):
            await engine.enqueue([new()])
        await blocker.execute("rollback")
        assert await counts(engine) == {}


async def test_a_call_that_overruns_its_time_is_cut_off(monkeypatch):
    monkeypatch.setattr(pool, "CALL_SECONDS", 0.2)
    async with fresh_engine() as engine, await connect() as blocker:
        await blocker.execute("begin")
        await blocker.execute(f"lock table {engine.schema}.jobs in access exclusive mode")
        with pytest.raises(OutcomeUnknown):
            await engine.enqueue([new()])


def test_a_call_that_overruns_its_time_is_cut_off_on_the_next_event_loop_too(monkeypatch):
    severed = []
    monkeypatch.setattr(pool, "sever", severed.append)
    watched = Overruns()

    async def first() -> None:
        watched.begin("one", 20.0)
        watched.end("one")
        watched.forget()

    async def second() -> None:
        watched.begin("two", 0.0)
        async with asyncio.timeout(5):
            while not severed:
                await asyncio.sleep(0)

    asyncio.run(first())
    asyncio.run(second())
    assert severed == ["two"]


@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_work_goes_on_after_the_server_was_restarted(own_server, how):
    async with fresh_engine(own_server) as engine:
        await register(engine, ttl=3600)
        held = await take(engine)
        own_server.restart(how)
        assert await settle(engine, held)
        assert await state(engine, held.id) is State.COMPLETED


async def test_a_server_that_is_down_is_unavailable_and_names_no_secret(own_server, caplog):
    caplog.set_level(logging.DEBUG)
    url = own_server.url().replace("postgres@", "postgres:s3cret@")
    engine = PostgresEngine(url, schema=fresh_schema())
    await engine.migrate()
    await engine.open()
    own_server.stop("immediate")
    with pytest.raises(EngineUnavailable) as raised:
        await engine.enqueue([new()])
    assert "s3cret" not in f"{raised.value!r} {engine!r} {caplog.text}"
    await engine.close()


async def test_sessions_left_on_a_server_that_turned_read_only_are_let_go():
    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        sessions = engine._pool._idle
        for session in sessions:
            await session.execute("set default_transaction_read_only = on")
        await engine.enqueue([new()])
        assert all(session.closed for session in sessions)
        assert await counts(engine) == {State.WAITING: 2}


async def test_a_wake_up_is_heard_again_after_the_listening_session_was_ended():
    async with fresh_engine() as engine:
        await register(engine)
        await until_listening(engine)
        assert await end_backends(engine, "%pg_notify%") == 1
        sql = "select 1 from pg_stat_activity where application_name = %s and query ilike '%%pg_notify%%'"
        while not await ask(sql, engine.schema):
            await engine.wait(["nothing"], 0.05)
        await until_listening(engine)
        await claim(engine)
        waiting = asyncio.create_task(engine.wait([QUEUE], 60))
        await engine.enqueue([new()])
        await asyncio.wait_for(waiting, 10)


async def test_an_engine_that_is_closed_in_the_moment_its_listener_hears_itself_closes(monkeypatch):
    async with fresh_engine() as engine:
        hear, closing = engine._listener._hear, []

        def hear_and_close(payload: str) -> None:
            hear(payload)
            if payload == engine._listener._ping and not closing:
                closing.append(asyncio.create_task(engine._listener.close()))

        monkeypatch.setattr(engine._listener, "_hear", hear_and_close)
        async with asyncio.timeout(20):
            await engine.wait([QUEUE], 600)  # ended by the closing
            await closing[0]


async def test_where_listening_does_not_work_it_polls_and_warns_once(monkeypatch, caplog):
    monkeypatch.setattr(listener, "PROVE_SECONDS", 0.05)
    monkeypatch.setattr(listener, "_FIRST_PAUSE", 0.01)
    async with fresh_engine() as engine:
        engine._listener._channel = "penstock_a; unlisten *"
        for _ in range(4):
            await asyncio.wait_for(engine.wait([QUEUE], 60), 5)
        warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == 1


async def test_a_pooler_that_refuses_startup_options_gets_limits_per_transaction(monkeypatch):
    async def refused(_: object) -> bool:
        return False

    monkeypatch.setattr(pool.Pool, "_takes_options", refused)
    async with fresh_engine() as engine:
        await register(engine)
        await engine.enqueue([new(), *news(60)])
        held = await claim(engine)
        assert all((await engine.settle([end(h) for h in held], want())).accepted)
        assert await counts(engine) == {State.COMPLETED: 61}
        assert held[0].created_at.utcoffset() is not None


async def test_a_forked_child_is_told_to_open_its_own():
    async with fresh_engine() as engine:
        engine._pool._pid = os.getpid() + 1
        with pytest.raises(EngineError, match="another process"):
            await engine.get(new().id)
        engine._pool._pid = os.getpid()


@pytest.mark.parametrize("name", ["", "Big", "a b", 'x"; drop table y; --', "a" * 49, "1a", "ä", "a.b"])
def test_a_schema_name_that_needs_quoting_is_refused(name):
    with pytest.raises(InvalidOption):
        PostgresEngine(postgres_server().url(), schema=name)


def test_a_url_that_cannot_be_read_is_not_repeated():
    with pytest.raises(InvalidOption) as raised:
        PostgresEngine("postgresql://u:s3cret@host:notaport/db?nonsense=1")
    assert "s3cret" not in str(raised.value)
    assert raised.value.__suppress_context__


async def test_opening_without_a_schema_names_the_command():
    engine = PostgresEngine(postgres_server().url(), schema=fresh_schema())
    with pytest.raises(SchemaMissing, match="penstock migrate"):
        await engine.open()


async def test_a_schema_from_a_newer_release_is_refused():
    async with fresh_engine() as engine:
        await ask(f"insert into {engine.schema}.migrations (name) values ('9999_later')")
        other = PostgresEngine(postgres_server().url(), schema=engine.schema)
        with pytest.raises(SchemaTooNew, match="9999_later"):
            await other.open()
        with pytest.raises(SchemaTooNew):
            await other.migrate()


async def test_a_verb_on_a_closed_engine_says_that_it_is_not_open():
    with pytest.raises(EngineError, match="not open"):
        await PostgresEngine(postgres_server().url()).queues()


async def until_blocked(engine: PostgresEngine) -> None:
    sql = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and position(%s in query) > 0"
    while not await ask(sql, engine.schema):
        pass


@pytest.mark.parametrize("verb", ["claim", "claim_next"])
async def test_a_want_that_cannot_be_written_is_refused_by_an_error_of_ours(verb):
    async with fresh_engine() as engine:
        patience = {} if verb == "claim" else {"timeout": 0.01}
        with pytest.raises(EngineError, match="NUL"):
            await getattr(engine, verb)(want(worker="a\0b"), **patience)
