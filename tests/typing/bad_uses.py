"""Wrong uses of the surface: each must be an error. An ignore that is not needed is an error, too."""

from __future__ import annotations

import sqlite3

import psycopg
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from penstock import Context, Penstock, RateLimited, Retry, Snooze, SyncContext, Throttle
from penstock.table import Row, SyncRowContext

app = Penstock("sqlite://:memory:")


@app.task
async def send(ctx: Context, order_id: int, to: str) -> str:
    return to


@app.task(queue="email")
def resize(ctx: SyncContext, path: str) -> None: ...


@app.task
def plain(a: int) -> int:
    return a


async def wrong_arguments() -> None:
    await send.aenqueue(order_id="seven", to="x")  # type: ignore[arg-type]
    await send.aenqueue(order=7, to="x")  # type: ignore[call-arg]
    await send.aenqueue(order_id=7)  # type: ignore[call-arg]
    await send.aenqueue(7, "x", "y")  # type: ignore[call-arg]
    await send.using(delay=1).aenqueue(order_id="seven", to="x")  # type: ignore[arg-type]
    await send.using(delay=1).aenqueue(order=7, to="x")  # type: ignore[call-arg]
    await send.using(delay=1).using(owner="me").aenqueue(order_id=7)  # type: ignore[call-arg]


def wrong_arguments_sync(ctx: Context) -> None:
    send.enqueue(ctx, order_id=7, to="x")  # type: ignore[misc, arg-type]
    send.call(to=7, order_id=7)  # type: ignore[arg-type]
    resize.enqueue(pth="x")  # type: ignore[call-arg]
    resize.using(priority="high").enqueue(path=b"x")  # type: ignore[arg-type]
    plain.enqueue("1")  # type: ignore[arg-type]
    plain.call()  # type: ignore[call-arg]


async def wrong_results() -> None:
    text: int = await (await send.aenqueue(order_id=7, to="x")).aresult()  # type: ignore[assignment]
    number: str = plain.enqueue(1).result()  # type: ignore[assignment]
    many: str = app.enqueue_many([plain.call(1)])[0].result()  # type: ignore[assignment]
    plain.enqueue(1).result(timeout="10")  # type: ignore[arg-type]
    print(text, number, many)


def wrong_options() -> None:
    send.using(dely=1)  # type: ignore[call-overload]
    send.using(delay="soon")  # type: ignore[call-overload]
    send.using(owner=7)  # type: ignore[call-overload]
    app.task(queu="email")  # type: ignore[call-overload]
    app.task(execute="fibre")  # type: ignore[call-overload]
    app.queue("email", concurrency="ten")  # type: ignore[arg-type]
    app.queue("email", when_disabled="drop")  # type: ignore[arg-type]
    app.queue("email", priority="urgent")  # type: ignore[arg-type]
    app.queue("email", retry="webhok")  # type: ignore[arg-type]
    app.task(priority="urgent")  # type: ignore[call-overload]
    send.using(priority="urgent")  # type: ignore[call-overload]
    send.using(retry="webhok")  # type: ignore[call-overload]


def wrong_schedules() -> None:
    app.schedule("a", send, evry=5)  # type: ignore[call-arg]
    app.schedule("a", send, every="5")  # type: ignore[arg-type]
    app.schedule("a", send, every=5, overlap="wait")  # type: ignore[arg-type]
    app.schedule("a", send, every=5, missed="some")  # type: ignore[arg-type]
    app.schedule("a", print, every=5)  # type: ignore[arg-type]


def wrong_policies() -> None:
    Retry.exponential(3, 5, capp=60)  # type: ignore[call-arg]
    Retry.exponential(3, 5, cap="60")  # type: ignore[arg-type]
    Retry.fixed(3, factor=2)  # type: ignore[call-arg]
    Retry.immediate(3, delay=5)  # type: ignore[call-arg]
    Retry(strategy="linear")  # type: ignore[arg-type]
    Retry(retry_on=(7,))  # type: ignore[arg-type]
    Snooze("30")  # type: ignore[arg-type]
    RateLimited("soon")  # type: ignore[arg-type]


async def wrong_calls_in_place(ctx: Context, sync_ctx: SyncContext) -> None:
    await send(order_id=7, to="x")  # type: ignore[call-arg]
    await send(sync_ctx, order_id=7, to="x")  # type: ignore[arg-type]
    resize(ctx, "x")  # type: ignore[arg-type]
    plain("x")  # type: ignore[arg-type]
    await ctx.progress("forty")  # type: ignore[arg-type]


async def wrong_flows(ctx: Context, sync: SyncContext) -> None:
    flow = app.flow("course")
    node = flow.add(plain.call(1))
    flow.add(send.call(1, "x"), after=[plain.call(1)])  # type: ignore[list-item]
    flow.add(send.call(1, "x"), after=node)  # type: ignore[arg-type]
    flow.add(send.call(1, "x"), on_failure="skip")  # type: ignore[arg-type]
    flow.add(plain)  # type: ignore[arg-type]
    text: str = flow.enqueue()[node].result()  # type: ignore[assignment]
    numbers: list[str] = await ctx.results_of(plain)  # type: ignore[arg-type]
    await ctx.step("n", plain, "1")  # type: ignore[call-overload]
    sync.step("n", str.upper, 1)  # type: ignore[arg-type]
    sync.sleep("soon")  # type: ignore[arg-type]
    ctx.enqueue(plain)  # type: ignore[arg-type]
    print(text, numbers)


def wrong_windows() -> None:
    app.task(unique="finished")  # type: ignore[call-overload]
    plain.using(unique=60)  # type: ignore[call-overload]
    plain.using(unique=Throttle("60"))  # type: ignore[arg-type]


def wrong_tables() -> None:
    async def process(ctx: SyncContext, row: Row) -> None: ...
    def text(ctx: SyncRowContext, row: Row) -> str:
        return str(row.id)

    def alone(row: Row) -> None: ...

    app.table("invoices")(process)  # type: ignore[type-var]
    app.table("invoices")(text)  # type: ignore[type-var]
    app.table("invoices")(alone)  # type: ignore[type-var]
    app.table("invoices", batch="ten")  # type: ignore[arg-type]
    app.table("invoices", columns={})  # type: ignore[call-arg]


async def wrong_connections(
    file: sqlite3.Connection,
    session: Session,
    awaited: psycopg.AsyncConnection,
    async_session: AsyncSession,
    async_connection: AsyncConnection,
) -> None:
    plain.using(connection=awaited).enqueue(1)  # type: ignore[attr-defined]
    plain.using(connection=async_session, delay=1).enqueue(1)  # type: ignore[attr-defined]
    plain.using(connection=async_connection).using(delay=1).enqueue(1)  # type: ignore[attr-defined]
    plain.using(connection=file).enqueue("1")  # type: ignore[arg-type]
    await plain.using(connection=async_session).aenqueue("1")  # type: ignore[arg-type]
    plain.using(connection=file).call(1)  # type: ignore[attr-defined]
    plain.using(connection="jobs.db")  # type: ignore[call-overload]
    plain.using(connection=session, order=7)  # type: ignore[call-overload]
    plain.using(connection=session).using(connection=file)  # type: ignore[call-arg]
    app.enqueue_many([plain.call(1)], connection=awaited)  # type: ignore[arg-type]
    app.emit("paid", {}, connection=async_session)  # type: ignore[arg-type]
    app.flow("course").enqueue(connection=async_connection)  # type: ignore[arg-type]
