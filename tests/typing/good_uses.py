"""Right uses of the surface: every line here must pass the type checker."""

from __future__ import annotations

import sqlite3
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, assert_type

import aiosqlite
import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from penstock import (
    Call,
    Context,
    Debounce,
    JobHandle,
    Penstock,
    Priority,
    RateLimited,
    Retry,
    Settings,
    Snooze,
    SyncContext,
    SyncTransaction,
    Throttle,
    Transaction,
    Upstream,
)
from penstock.table import Row, RowContext, SyncRowContext

app = Penstock("sqlite://:memory:", settings=Settings(concurrency=20, timeout=None))
app.queue("email", concurrency=10, retry="external_api", keep_completed=500, keep_failed=1000, keep_for=None)


@app.task(queue="email", timeout=30, key="receipt:{order_id}")
async def send_receipt(ctx: Context, order_id: int, to: str = "ana@example.com") -> str:
    await ctx.progress(40, "rendering")
    assert_type(ctx.attempt, int)
    return to


@app.task
def resize(ctx: SyncContext, path: str) -> None:
    ctx.progress(40, "rendering")


@app.task(effects_for=timedelta(days=90))
async def charge(ctx: Context, cents: int) -> int:
    async with ctx.transaction() as tx:
        assert_type(tx, Transaction)
        assert_type(await ctx.once("charge"), bool)
        await tx.execute("insert into charges values (?)", (cents,))
        tx.set_result(cents)
    assert_type(ctx.key_for("stripe"), str)
    return cents


@app.task
def charge_in_thread(ctx: SyncContext, session: int) -> None:
    with sqlite3.connect("shop.db") as connection, ctx.transaction(connection) as tx:
        assert_type(tx, SyncTransaction)
        assert_type(ctx.once("charge", connection=connection), bool)


@app.task
async def add(a: int, b: int) -> int:
    return a + b


@app.task(execute="process", retry=Retry.fixed(3, 1.0), priority="high", enabled=lambda: True)
def shout(text: str, *, times: int = 1) -> str:
    return text.upper() * times


@app.task(name="nothing.at-all")
def nothing() -> None: ...


async def in_a_loop(ctx: Context) -> None:
    job = await send_receipt.aenqueue(order_id=7, to="ana@example.com")
    assert_type(job, JobHandle[str])
    assert_type(await job.aresult(timeout=10), str)
    assert_type(await (await job.arefresh()).aresult(), str)
    assert_type(await add.using(delay=timedelta(minutes=1)).aenqueue(1, b=2), JobHandle[int])
    jobs = await app.aenqueue_many([send_receipt.call(order_id=n) for n in range(3)])
    assert_type(jobs, list[JobHandle[str]])
    assert_type(await add(1, 2), int)
    assert_type(await send_receipt(ctx, 7), str)
    running: Coroutine[Any, Any, str] = send_receipt(ctx, order_id=7, to="x")
    await running


def without_a_loop(ctx: SyncContext) -> None:
    job = send_receipt.using(delay=60, priority="high", owner="user-1", key="k").enqueue(order_id=7)
    assert_type(job.id, str)
    assert_type(job.duplicate, bool)
    assert_type(job.key, str)
    assert_type(job.refresh(), JobHandle[str])
    assert_type(job.result(timeout=10), str)
    assert_type(shout.call("a", times=2), Call[str])
    assert_type(shout("a"), str)
    assert_type(shout.using(owner="me").using(timeout=None).enqueue(text="a"), JobHandle[str])
    assert_type(job.result(timeout=timedelta(seconds=10)), str)
    assert_type(app.enqueue_many([nothing.call(), resize.call("p")]), list[JobHandle[None]])
    assert_type(app.enqueue_many([shout.call("a") for _ in range(3)])[0].result(), str)
    mixed: list[Call[object]] = [shout.call("a"), nothing.call()]
    assert_type(app.enqueue_many(mixed), list[JobHandle[object]])
    assert_type(app.enqueue_many([app.call_by_name("shout", {"text": "a"})]), list[JobHandle[Any]])
    resize(ctx, "path")
    nothing()


def durations_and_names(policy: str, priority: str) -> None:
    minute = timedelta(minutes=1)
    raised: list[Exception] = [Snooze(minute), Snooze(60), RateLimited(minute), RateLimited(retry_after=0.5)]
    Retry(3, minute, "fixed", cap=minute, retry_on=(KeyError, "ECONNRESET"), no_retry_on=ValueError)
    Retry.exponential(5, minute, factor=3, cap=minute, jitter=0.2, retry_on=[TimeoutError])
    Retry.fixed(5, minute, cap=3_600, no_retry_on="NOT_FOUND")
    Retry.immediate(2, retry_on=KeyError)
    send_receipt.using(retry="webhook", priority=Priority.LOW)
    send_receipt.using(retry=Retry.of(policy), priority=Priority.of(priority))
    app.worker(lease=minute, grace=minute)
    print(raised)


async def flows_and_steps(ctx: Context, sync: SyncContext) -> None:
    flow = app.flow("course")
    first = flow.add(add.call(1, 2))
    second = flow.add(shout.call("a"), after=[first], on_failure="ignore")
    ends = flow.include(app.flow("more"), after={first: "fail", second: "wait"})
    flow.add(nothing.call(), after=ends)
    made = await flow.aenqueue()
    assert_type(made[first], JobHandle[int])
    assert_type(await made[second].aresult(), str)
    assert_type(flow.enqueue().jobs, list[JobHandle[Any]])
    assert_type(await ctx.results_of(add), list[int])
    assert_type(sync.results_of(shout), list[str])
    assert_type(await ctx.upstream(), list[Upstream])
    assert_type(await ctx.step("sum", add, 1, b=2), int)
    assert_type(await ctx.step("loud", str.upper, "a"), str)
    assert_type(sync.step("loud", str.upper, "a"), str)
    await ctx.sleep(timedelta(days=1))
    sync.sleep(60)
    ctx.enqueue(add.call(1, 2))
    sync.enqueue(nothing.call())


def windows() -> None:
    app.task(key="k:{a}", unique="unfinished")
    app.task(unique=Throttle(60))
    add.using(key="k", unique=Debounce(timedelta(seconds=30))).enqueue(1, 2)
    add.using(unique="record")


async def schedules() -> None:
    hour = timedelta(hours=1)
    app.schedule("a", send_receipt, cron="15 4 * * *", tz="America/Sao_Paulo", args={"order_id": 7})
    app.schedule("b", nothing.using(priority="low"), every=hour, overlap="queue", missed="all", timeout=None)
    app.schedule("c", shout.call("a"), every=5, after=["a", "b"], deadline=hour, on_deadline="fail")
    app.upsert_schedule("d", nothing, every=5, keep_completed=None, keep_failed=3, retry="webhook")
    await app.aupsert_schedule("d", nothing, every=5)
    assert_type(app.remove_schedule("d"), bool)
    assert_type(await app.aremove_schedule("d"), bool)


@app.table(
    "invoices", output="receipts", source_column="invoice_id", retry="external_api", url="sqlite:///b.db"
)
async def process(ctx: RowContext, row: Row) -> dict[str, object]:
    assert_type(ctx.attempt, int)
    async with ctx.transaction() as tx:
        print((await tx.execute("select 1")).fetchone())
    return {"total": row.total, "tax": row["tax"]}


@app.table("documents", url="postgresql://db/books")
def read(ctx: SyncRowContext, row: Row) -> None:
    with ctx.transaction() as tx:
        tx.execute("delete from pages where document = %s", (row.id,))


async def beside_a_server() -> None:
    async with app.table_worker(["invoices"], grace=5) as worker:
        worker.wake()


def connections(
    file: sqlite3.Connection,
    server: psycopg.Connection,
    rows: psycopg.Connection[dict[str, Any]],
    connection: sqlalchemy.Connection,
    session: Session,
    scoped: scoped_session[Session],
) -> None:
    assert_type(add.using(connection=file).enqueue(1, 2), JobHandle[int])
    assert_type(add.using(connection=server, delay=5).enqueue(1, b=2), JobHandle[int])
    assert_type(add.using(owner="me").using(connection=rows).enqueue(1, 2), JobHandle[int])
    assert_type(add.using(connection=connection).using(key="k").enqueue(1, 2), JobHandle[int])
    assert_type(add.using(connection=session, order="account-7").enqueue(1, 2), JobHandle[int])
    assert_type(add.using(connection=scoped).enqueue(1, 2), JobHandle[int])
    assert_type(app.enqueue_many([add.call(1, 2)], connection=session), list[JobHandle[int]])
    app.emit("order.paid", {"order_id": 7}, connection=session)
    app.flow("course").enqueue(connection=session)


async def async_connections(
    file: aiosqlite.Connection,
    server: psycopg.AsyncConnection,
    connection: AsyncConnection,
    session: AsyncSession,
    scoped: async_scoped_session[AsyncSession],
    sync_session: Session,
) -> None:
    assert_type(await add.using(connection=file).aenqueue(1, 2), JobHandle[int])
    assert_type(await add.using(connection=server).using(delay=5).aenqueue(1, 2), JobHandle[int])
    assert_type(await add.using(connection=connection).aenqueue(1, 2), JobHandle[int])
    assert_type(await add.using(connection=session).aenqueue(1, 2), JobHandle[int])
    assert_type(await add.using(connection=scoped).aenqueue(1, 2), JobHandle[int])
    assert_type(await add.using(connection=sync_session).aenqueue(1, 2), JobHandle[int])
    assert_type(await app.aenqueue_many([add.call(1, 2)], connection=session), list[JobHandle[int]])
    await app.aemit("order.paid", {"order_id": 7}, connection=server)
    await app.flow("course").aenqueue(connection=sync_session)
