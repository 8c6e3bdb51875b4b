"""Enqueueing from psql, as any language can: one JSON argument, in the caller's own transaction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
import pytest

from conformance.kit import claim, counts, read, register
from engines.postgres_kit import ask, connect, fresh_engine, until_listening
from penstock.engines.postgres import listener
from penstock.engines.postgres.engine import UNFOLDED, PostgresEngine
from penstock.model.ids import is_id
from penstock.model.priority import HEAD_START
from penstock.model.states import State
from servers import postgres_server

JOB = '[{"queue": "email", "task": "send", "args": {"order": 7}}]'


async def test_a_job_enqueued_in_psql_is_claimed_after_commit():
    async with fresh_engine() as engine:
        answer = postgres_server().psql(f"begin; select * from {engine.schema}.enqueue('{JOB}'); commit;")
        job_id, state, duplicate = answer.split("|")
        assert is_id(job_id)
        assert (state, duplicate) == ("waiting", "f")
        await register(engine)
        [held] = await claim(engine, "email")
        assert (held.id, held.task, held.args, held.key) == (job_id, "send", '{"order": 7}', job_id)


@asynccontextmanager
async def enqueueing(
    engine: PostgresEngine, callers: int, *, brief: bool
) -> AsyncIterator[list[psycopg.AsyncConnection[Any]]]:
    """Callers in open transactions, each with a job; a worker listens that has looked and found nothing."""
    async with AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(await connect()) for _ in range(callers)]
        for session in sessions:
            await session.execute(f"set penstock.brief = {'on' if brief else 'off'}".encode())
            await session.execute("begin")
            await session.execute(f"select {engine.schema}.enqueue('{JOB}')".encode())
        await register(engine, queues=["email"])
        await until_listening(engine)
        await claim(engine, "email")
        yield sessions


async def test_a_job_is_heard_of_at_its_commit_though_many_transactions_before_it_are_still_open():
    async with fresh_engine() as engine, enqueueing(engine, 6, brief=False) as callers:
        waiting = asyncio.create_task(engine.wait(["email"], 60))
        await callers[-1].execute("commit")
        await asyncio.wait_for(waiting, 10)


async def test_a_job_whose_transaction_left_the_wake_up_to_others_is_looked_for_once_more(monkeypatch):
    monkeypatch.setattr(listener, "ECHO_AFTER", 1.0)  # far longer than the claim below takes
    async with fresh_engine() as engine, enqueueing(engine, 5, brief=True) as callers:
        waiting = asyncio.create_task(engine.wait(["email"], 60))
        for caller in callers[:-1]:
            await caller.execute("commit")
        await asyncio.wait_for(waiting, 10)
        assert len(await claim(engine, "email", limit=10)) == 4
        await callers[-1].execute("commit")
        await asyncio.wait_for(engine.wait(["email"], 60), 10)
        assert len(await claim(engine, "email", limit=10)) == 1


async def test_a_job_enqueued_in_psql_is_gone_with_its_transaction():
    async with fresh_engine() as engine:
        sql = f"begin; select * from {engine.schema}.enqueue('{JOB}'); rollback;"
        job_id = postgres_server().psql(sql).split("|")[0]
        assert await engine.get(job_id) is None
        assert await engine.queues() == []


async def test_only_the_task_must_be_given():
    async with fresh_engine() as engine:
        [(job_id, _, _)] = await ask(f'select * from {engine.schema}.enqueue(\'[{{"task": "t"}}]\')')
        job = await read(engine, job_id)
        assert (job.queue, job.lane, job.args_json, job.priority) == ("default", "default", "{}", 3)
        assert (job.max_attempts, job.unique, job.owner, job.expires_at) == (3, False, None, None)
        with pytest.raises(RuntimeError, match='null value in column "task"'):
            postgres_server().psql(f"select * from {engine.schema}.enqueue('[{{}}]')")


ODD = '{"b":  1.50,\n "a": "\\u00e9 \u00e9", "big": 12345678901234567890, "b": 2}'


async def test_args_given_as_an_object_come_back_byte_for_byte():
    async with fresh_engine() as engine:
        given = '[{"task": "t", "args": ' + ODD + "}]"
        [(job_id, _, _)] = await ask(f"select * from {engine.schema}.enqueue(%s::text::json)", given)
        assert (await read(engine, job_id)).args_json == ODD


async def test_args_given_as_text_come_back_byte_for_byte():
    text = ODD.replace("\\u00e9", "\\u0000")
    async with fresh_engine() as engine:
        given = json.dumps([{"task": "t", "args": text}])
        [(job_id, _, _)] = await ask(f"select * from {engine.schema}.enqueue(%s::text::json)", given)
        assert (await read(engine, job_id)).args_json == text


async def test_a_taken_key_answers_with_its_holder_also_within_one_call():
    keyed, free = '{"task": "t", "key": "k"}', '{"task": "t", "key": "k", "unique": false}'
    async with fresh_engine() as engine:
        rows = await ask(f"select * from {engine.schema}.enqueue('[{keyed}, {keyed}, {free}]')")
        assert [duplicate for _, _, duplicate in rows] == [False, True, False]
        assert rows[0][0] == rows[1][0] != rows[2][0]
        [(holder, _, duplicate)] = await ask(f"select * from {engine.schema}.enqueue('[{keyed}]')")
        assert (holder, duplicate) == (rows[0][0], True)
        assert await counts(engine) == {State.WAITING: 2}


async def test_counts_that_lie_about_unfolded_are_told_of_before_they_are_many():
    async with fresh_engine() as engine:
        add = f"insert into {engine.schema}.counts select 'q', null, 'waiting', 1 from generate_series(1, %s)"
        await ask(add, UNFOLDED)
        assert not (await engine.outlook()).untidy
        await ask(add, 1)
        assert (await engine.outlook()).untidy
        await engine.tidy()
        assert not (await engine.outlook()).untidy
        assert await counts(engine, "q") == {State.WAITING: UNFOLDED + 1}


async def test_ids_made_by_the_database_are_version_seven_and_in_order_of_time():
    async with fresh_engine() as engine:
        made = [
            (await ask(f"select {engine.schema}.uuid7(now() + %s * interval '1 s')::text", n))[0][0]
            for n in range(3)
        ]
        assert made == sorted(made)
        assert all(is_id(text) and text[14] == "7" and text[19] in "89ab" for text in made)


async def test_the_database_ranks_as_the_model_does():
    async with fresh_engine() as engine:
        for priority, seconds in HEAD_START.items():
            sql = f"select extract(epoch from now() - {engine.schema}.rank_of(now(), %s))::integer"
            assert await ask(sql, int(priority)) == [(seconds,)]


async def test_a_delayed_job_is_due_by_the_servers_clock():
    async with fresh_engine() as engine:
        jobs = '[{"task": "t", "delay": 60, "expire_after": 30}]'
        [(job_id, state, _)] = await ask(f"select * from {engine.schema}.enqueue('{jobs}')")
        job = await read(engine, job_id)
        assert state == job.state == State.DELAYED
        assert (job.due_at - job.created_at).total_seconds() == 60
        assert job.expires_at is not None
        assert (job.expires_at - job.due_at).total_seconds() == 30


async def test_a_long_transaction_that_enqueues_does_not_silence_the_others():
    async with fresh_engine() as engine, await connect() as long, await connect() as ear:
        await ear.execute(f"listen penstock_{engine.schema}")
        await long.execute("begin")
        await long.execute(f"select {engine.schema}.enqueue('{JOB}')")
        await ask(f"select {engine.schema}.enqueue('{JOB}')")
        heard = [note.payload async for note in ear.notifies(timeout=10, stop_after=1)]
        assert heard == ["email"]


@pytest.mark.parametrize(
    ("window", "free"), [("record", "f"), ("unfinished", "f"), ("started", "t"), ("debounce", "t")]
)
async def test_psql_says_how_long_a_key_is_held(window: str, free: str):
    async with fresh_engine() as engine:
        job = f'[{{"task": "t", "key": "k", "window": "{window}"}}]'
        sql = f"select not duplicate from {engine.schema}.enqueue('{job}')"
        assert postgres_server().psql(sql) == "t"
        assert postgres_server().psql(sql) == "f"
        await register(engine)
        assert len(await claim(engine, "default")) == 1
        assert postgres_server().psql(sql) == free


async def test_psql_cannot_hold_a_key_by_a_window_nobody_knows():
    async with fresh_engine() as engine:
        with pytest.raises(RuntimeError, match="window_is_known"):
            postgres_server().psql(
                f'select * from {engine.schema}.enqueue(\'[{{"task": "t", "key": "k", "window": "ever"}}]\')'
            )


async def test_psql_puts_a_job_in_behind_another():
    async with fresh_engine() as engine:
        [(first, _, _)] = await ask(f'select * from {engine.schema}.enqueue(\'[{{"task": "t"}}]\')')
        job = f'[{{"task": "t", "ties": {{"after": [["{first}", "fail"]]}}}}]'
        [(second, state, _)] = await ask(f"select * from {engine.schema}.enqueue('{job}')")
        assert state == "blocked"
        await engine.cancel([first], "no")
        assert (await read(engine, second)).state is State.CANCELLED
