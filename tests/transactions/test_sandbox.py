"""In a sandbox, too, handlers have transactions: in memory, or on the test's own connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from penstock import Context, Penstock, Retry, State, SyncContext
from penstock.engine import EffectFilter
from penstock.testing import sandbox


@pytest.fixture
def home() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.execute("create table charges (n integer)")
        yield connection


async def test_a_transaction_of_ours_is_one_with_the_job() -> None:
    app = Penstock("postgresql://nobody@nowhere/none")

    @app.task(retry=Retry.immediate(2))
    async def pay(ctx: Context, n: int) -> int:
        async with ctx.transaction() as tx:
            await tx.execute("create table if not exists charges (n integer)")
            if await ctx.once("charge"):
                await tx.execute("insert into charges values (?)", (n,))
            mail.using(connection=tx.connection).enqueue()
            [count] = await (await tx.execute("select count(*) from charges")).fetchone()
            tx.set_result(count)
            if ctx.attempt == 1:
                raise ValueError("oops")
        return count

    @app.task
    def mail() -> None: ...

    async with sandbox(app) as box:
        job = await pay.aenqueue(n=7)
        await box.adrain()
        assert await job.aresult() == 1
        assert len(await box.ajobs(mail)) == 1
        assert len(await app.engine.effects(EffectFilter(), 10)) == 1


def test_a_connection_of_the_tests_own_is_committed_when_the_job_is_settled(home: sqlite3.Connection) -> None:
    app = Penstock("postgresql://nobody@nowhere/none")

    @app.task(retry=Retry.immediate(2))
    def pay(ctx: SyncContext, n: int) -> int:
        with ctx.transaction(home) as tx:
            if ctx.once("charge"):
                home.execute("insert into charges values (?)", (n,))
            tx.set_result(n)
            if ctx.attempt == 1:
                raise ValueError("oops")
        return n

    with sandbox(app) as box:
        job = pay.enqueue(n=7)
        box.drain()
        assert (job.refresh().state, job.result()) == (State.COMPLETED, 7)
        assert home.execute("select n from charges").fetchall() == [(7,)]
        assert not home.in_transaction


def test_effects_are_recorded_in_the_database_of_the_test(home: sqlite3.Connection) -> None:
    app = Penstock("redis://nowhere/0")

    @app.task(retry=Retry.immediate(3))
    def pay(ctx: SyncContext, n: int) -> None:
        with home:
            if ctx.once("charge", connection=home):
                home.execute("insert into charges values (?)", (n,))
            if ctx.attempt == 1:
                raise ValueError("before the commit")
        if ctx.attempt == 2:
            raise ValueError("after it")

    with sandbox(app) as box:
        pay.enqueue(n=7)
        box.drain()
        assert [job.state for job in box.jobs()] == [State.COMPLETED]
        assert home.execute("select n from charges").fetchall() == [(7,)]
