"""The lean way to the server: what goes in comes out, and nobody waits for an answer that will not come."""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from conformance.kit import counts, new
from engines.postgres_kit import ask, fresh_engine
from penstock.engines.postgres import straight
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.engine import PostgresEngine
from penstock.engines.postgres.pool import Pool
from penstock.engines.postgres.watch import Seat
from penstock.model.errors import EngineError
from penstock.model.states import State

ODD = ["", "a b", 'quo"te', "back\\slash", "{brace},", "NULL", "null", "ünï", "line\nend", "%s %(x)s", None]


async def rows(engine: PostgresEngine, sql: str, **values: Any) -> straight.Rows:
    (found,) = await engine._database.run(Call(sql, values), repeatable=True)
    return found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", 'back\\slash and "quotes"'),
        ("integer", -7),
        ("boolean", True),
        ("boolean", False),
        ("double precision", 1e-300),
        ("timestamptz", datetime(2026, 2, 3, 4, 5, 6, 789_012, tzinfo=UTC)),
        ("text", None),
        ("text[]", ODD),
        ("text[]", []),
        ("integer[]", [1, -2, 3]),
        ("boolean[]", [True, False]),
        ("double precision[]", [0.1, 1e300]),
    ],
)
async def test_a_value_comes_back_equal(kind: str, value: Any) -> None:
    async with fresh_engine() as engine:
        assert await rows(engine, f"select %(value)s::{kind}, 1", value=value) == [(value, 1)]


async def test_a_value_given_once_can_stand_in_many_places() -> None:
    async with fresh_engine() as engine:
        found = await rows(engine, "select %(b)s::text || %(a)s || %(b)s, '%%'", a="a", b="b")
        assert found == [("bab", "%")]


async def test_a_statement_is_prepared_once_for_a_session() -> None:
    async with fresh_engine() as engine:
        for number in range(3):
            assert await rows(engine, "select %(n)s::integer", n=number) == [(number,)]
        found = await rows(
            engine, "select count(*) from pg_prepared_statements where statement like %(s)s", s="select $1%"
        )
        assert found == [(1,)]


async def test_more_than_the_socket_takes_at_once_gets_through() -> None:
    async with fresh_engine() as engine:
        large = "x" * 30_000_000
        assert await rows(engine, "select md5(%(text)s), %(text)s::text", text=large) == [
            ((await ask("select md5(repeat('x', 30000000))"))[0][0], large)
        ]


async def test_text_with_a_nul_byte_is_refused_not_cut() -> None:
    async with fresh_engine() as engine:
        with pytest.raises(EngineError, match="NUL"):
            await rows(engine, "select %(text)s::text", text="a\0b")


async def test_an_error_of_the_server_is_told_and_the_session_stays_usable() -> None:
    async with fresh_engine() as engine:
        with pytest.raises(EngineError, match="division by zero") as raised:
            await rows(engine, "select 1 / %(n)s::integer", n=0)
        assert isinstance(raised.value.__cause__, psycopg.errors.DivisionByZero)
        assert await rows(engine, "select 1 / %(n)s::integer", n=1) == [(1,)]
        assert len(engine._pool._idle) == 1


async def test_an_error_at_the_commit_is_told_though_rows_came_before() -> None:
    async with fresh_engine() as engine:
        at_commit = "constraint once unique (n) deferrable initially deferred"
        await ask(f"create table {engine.schema}.late (n integer, {at_commit})")
        await rows(engine, f"insert into {engine.schema}.late values (%(n)s) returning n", n=1)
        with pytest.raises(EngineError, match="once"):
            await rows(engine, f"insert into {engine.schema}.late values (%(n)s) returning n", n=1)


async def test_a_cancelled_call_does_not_leave_its_answer_to_the_next() -> None:
    async with fresh_engine() as engine:
        asking = asyncio.create_task(rows(engine, "select pg_sleep(%(s)s)", s=30.0))
        while not await ask(
            "select 1 from pg_stat_activity where application_name = %s and wait_event = 'PgSleep'",
            engine.schema,
        ):
            assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await rows(engine, "select 2") == [(2,)]


async def test_a_call_given_up_while_it_was_prepared_costs_its_session_and_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = straight._answer

    async def given_up(session: straight.Session) -> Any:
        await answer(session)
        raise asyncio.CancelledError

    async with fresh_engine() as engine:
        monkeypatch.setattr(straight, "_answer", given_up)
        with pytest.raises(asyncio.CancelledError):
            await rows(engine, "select 3")
        monkeypatch.undo()
        assert await rows(engine, "select 3") == [(3,)]
        assert engine._pool.ours


async def test_a_pooler_that_mixes_up_sessions_is_noticed_and_nothing_is_prepared_any_more() -> None:
    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        for session in engine._pool._idle:
            await session.execute("deallocate all")
        await engine.enqueue([new()])
        assert await counts(engine) == {State.WAITING: 2}
        assert engine._pool.ours is False


async def test_a_line_that_is_lost_leaves_alone_whoever_gets_its_number_next() -> None:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    heard = asyncio.Event()

    class Lost:
        """A connection whose number is taken by another one while its loss is on its way to the caller."""

        socket = ours.fileno()

        def flush(self) -> int:
            return 0

        def consume_input(self) -> None:
            loop.call_soon(loop.add_reader, ours.fileno(), heard.set)
            raise psycopg.OperationalError("the server has gone")

    class Session:
        pgconn = Lost()
        seat = Seat()

    with ours, theirs:
        theirs.send(b"goodbye")
        with pytest.raises(psycopg.OperationalError):
            await straight._answer(Session())  # type: ignore[arg-type]
        await asyncio.wait_for(heard.wait(), 20)
        loop.remove_reader(ours.fileno())


@pytest.mark.parametrize("more", [{}, {"owner": "ana"}])
async def test_an_enqueue_survives_a_pooler_whose_sessions_others_have_prepared(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    dial = Pool._dial

    async def shared(self: Pool, settings: str) -> straight.Session:
        session = await dial(self, settings)
        for number in range(2):
            await session.execute(f"prepare penstock_{number} as select 1")
        return session

    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        await engine._pool.drop_idle()
        monkeypatch.setattr(Pool, "_dial", shared)
        await engine.enqueue([new(**more)])
        assert engine._pool.ours is False
        assert await counts(engine) == {State.WAITING: 2}


@pytest.mark.parametrize("more", [{}, {"owner": "ana"}])
async def test_what_the_driver_refuses_is_told_as_an_error_of_the_engine(more: dict[str, Any]) -> None:
    async with fresh_engine() as engine:
        await engine.enqueue([new()])
        with pytest.raises(EngineError, match="NUL"):
            await engine.enqueue([new(args="a\0b", **more)])


@pytest.mark.parametrize("more", [{}, {"owner": "ana"}])
async def test_a_delay_that_has_passed_counts_from_then(more: dict[str, Any]) -> None:
    async with fresh_engine() as engine:
        job = new(delay=-60.0, **more)
        await engine.enqueue([job])
        stored = await engine.get(job.id)
        assert stored is not None
        assert stored.due_at - stored.created_at == timedelta(seconds=-60)
