"""A handler's transaction keeps nobody out for long, and only the end of its block commits it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from typing import Any

import psycopg
import pytest

from conformance.kit import Place
from conftest import lent as lent_place
from conftest import make_place
from penstock import Context, InvalidOption, Penstock, State, SyncContext, TransactionTooLong
from penstock.engines.sqlite import own
from penstock.model.clock import EngineClock
from penstock.opening import transactions
from transactions.shop import LEASE, Shop, url_of

on_sqlite = pytest.mark.parametrize("shop", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("shop", ["postgres"], indirect=True)
FOREVER = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction may last a tenth of a second."""
    monkeypatch.setattr(own, "SHARE", 0.1 / LEASE)


@on_sqlite
@pytest.mark.usefixtures("hurried")
async def test_a_block_that_takes_too_long_is_undone_while_it_waits(shop: Shop) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            if ctx.attempt == 1:
                # Somebody else can write although the block is open: it has been taken away.
                await shop.app.engine.set_paused("elsewhere", True)
                with pytest.raises(TransactionTooLong):
                    await tx.execute(shop.insert, (n,))
                with pytest.raises(TransactionTooLong):
                    tx.connection.execute(shop.insert, (n,))

    shop.do = do
    job = await shop.pay.aenqueue()
    await shop.run()
    assert [type(error) for error in shop.errors] == [TransactionTooLong]
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@pytest.mark.parametrize("shop", ["sqlite", "memory"], indirect=True)
@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_what_would_wait_for_the_transaction_around_it_is_refused_at_once(
    shop: Shop, kind: str
) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            with pytest.raises(InvalidOption, match=r"ctx\.enqueue"):
                await shop.mail.aenqueue(n=n)
            with pytest.raises(InvalidOption, match=r"ctx\.enqueue"):
                await asyncio.create_task(shop.app.aenqueue_many([shop.mail.call(n=n)]))
        await shop.mail.aenqueue(n=n)

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))
            with pytest.raises(InvalidOption, match=r"ctx\.enqueue"):
                shop.mail.enqueue(n=n)
        shop.mail.enqueue(n=n)

    shop.do = do if kind == "async" else do_sync
    await (shop.pay if kind == "async" else shop.pay_sync).aenqueue()
    await shop.run()
    (queue,) = await shop.app.engine.queues()
    assert (shop.errors, queue.counts[State.COMPLETED]) == ([], 2)


@on_sqlite
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("statement", [FOREVER, f"insert into charges {FOREVER}"])
async def test_a_statement_that_takes_too_long_is_interrupted(shop: Shop, statement: str) -> None:
    def do(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))
            if ctx.attempt == 1:
                half_read = tx.execute("select 1 union all select 2")
                assert half_read.fetchone() == (1,)
                try:
                    tx.execute(statement)
                except TransactionTooLong:
                    tx.execute(shop.insert, (n,))  # nothing can be written any more, and nothing stays

    shop.do = do
    job = await shop.pay_sync.aenqueue()
    await shop.run()
    assert [type(error) for error in shop.errors] == [TransactionTooLong]
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@on_sqlite
@pytest.mark.usefixtures("hurried")
async def test_a_thread_that_sleeps_in_its_block_holds_nobody_up(shop: Shop) -> None:
    over, inside, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

    def do(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))
            if ctx.attempt == 1:
                loop.call_soon_threadsafe(inside.set)
                assert over.wait(10)

    shop.do = do
    job = await shop.pay_sync.aenqueue()
    worker = await shop.begin()
    running = asyncio.create_task(worker.run(burst=True))
    await inside.wait()
    await shop.mail.aenqueue(n=1)
    over.set()
    await running
    await shop.run()
    assert [type(error) for error in shop.errors] == [TransactionTooLong]
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@pytest.mark.parametrize("shop", ["sqlite", "memory"], indirect=True)
async def test_nobody_commits_inside_the_block(shop: Shop) -> None:
    def ways(connection: Any) -> list[Any]:
        cursor = connection.cursor()
        return [
            connection.commit,
            connection.rollback,
            lambda: connection.executescript("select 1"),
            lambda: cursor.executescript("select 1"),
            connection.__enter__,
        ]

    def do(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))
            for way in ways(tx.connection):
                with pytest.raises(InvalidOption, match="when the block ends"):
                    way()

    shop.do = do
    job = await shop.pay_sync.aenqueue()
    await shop.run()
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@pytest.mark.parametrize("shop", ["sqlite", "memory"], indirect=True)
async def test_nothing_is_kept_after_an_error_that_undid_the_transaction(shop: Shop) -> None:
    """`or rollback` ends it without a word of the handler's, and each statement would be one by itself."""

    def do(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute("create unique index once on charges (n)")
            tx.execute(shop.insert, (n,))
            with pytest.raises(sqlite3.IntegrityError):
                tx.execute(shop.insert.replace("insert", "insert or rollback"), (n,))
            tx.execute(shop.insert, (n,))

    shop.do = do
    job = await shop.pay_sync.aenqueue()
    await shop.run()
    assert "is over before the end of its block" in str(shop.errors[0])
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.FAILED, [])


@on_postgres
async def test_nobody_commits_inside_the_block_on_postgresql(shop: Shop) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            for way in (tx.connection.commit, tx.connection.rollback):
                with pytest.raises(psycopg.ProgrammingError):
                    await way()

    shop.do = do
    job = await shop.pay.aenqueue()
    await shop.run()
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_many_at_once_take_turns(shop: Shop, kind: str) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            await asyncio.sleep(0.001)
            await tx.execute("select 1")

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))
            time.sleep(0.001)

    shop.do = do if kind == "async" else do_sync
    task = shop.pay if kind == "async" else shop.pay_sync
    await shop.app.aenqueue_many([task.call(n=n) for n in range(40)])
    await shop.run(slots=16)
    assert shop.errors == []
    assert await shop.charges() == list(range(40))


# -- PostgreSQL -------------------------------------------------------------------------------------
@on_postgres
async def test_connections_are_kept_for_the_next_and_never_more_than_there_are_slots(shop: Shop) -> None:
    seen: set[int] = set()

    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            seen.add(tx.connection.info.backend_pid)
            await tx.execute(shop.insert, (n,))

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            seen.add(tx.connection.info.backend_pid)
            tx.execute(shop.insert, (n,))

    for task, handler in ((shop.pay, do), (shop.pay_sync, do_sync)):
        shop.do = handler
        seen.clear()
        for n in range(20):
            await task.aenqueue(n=n)
        await shop.run(slots=3)
        assert len(seen) <= 3
    kept: Any = shop.app.transactions.own()
    assert len(kept._idle) + len(kept._idle_async) <= 3
    assert shop.errors == []


@on_postgres
async def test_a_connection_that_died_while_it_was_kept_is_replaced(shop: Shop) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))

    shop.do = do
    await shop.pay.aenqueue(n=1)
    await shop.run()
    with psycopg.connect(shop.place.address, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
            "where application_name = 'penstock' and state = 'idle' and pid <> pg_backend_pid()"
        )
    await shop.pay.aenqueue(n=2)
    await shop.run()
    assert (shop.errors, await shop.charges()) == ([], [1, 2])


@on_postgres
async def test_a_session_that_stands_still_for_a_lease_is_ended_by_the_server(shop: Shop) -> None:
    block = shop.app.transactions.own().begin(12.5)
    [found] = block.execute("select current_setting('idle_in_transaction_session_timeout')", ()).fetchone()
    block.rollback()
    assert found == "12500ms"


@on_postgres
@pytest.mark.parametrize("got_through", [False, True])
async def test_where_nobody_knows_of_the_commit_the_run_fails_and_is_refused_if_it_was_done(
    shop: Shop, got_through: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The line is cut before the commit, or after it and before its answer."""

    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            if ctx.attempt == 1:
                _cut_at_commit(tx, got_through)

    shop.do = do
    job = await shop.pay.aenqueue()
    await shop.run()
    found = await shop.look(job.id)
    assert [type(error).__name__ for error in shop.errors] == ["OutcomeUnknown"]
    assert (found.state, found.attempt) == (State.COMPLETED, 1 if got_through else 2)
    assert ("settlement refused" in caplog.text) is got_through
    assert await shop.charges() == [7]


def _cut_at_commit(tx: Any, got_through: bool) -> None:
    block = tx._own._block

    class Cut:
        """The line is lost under the commit; afterwards there is nothing to roll back."""

        pgconn, status, Status = block.pgconn, None, block.Status

        async def __aexit__(self, kind: object, *_: object) -> bool:
            if kind is None:
                if got_through:
                    await block.__aexit__(None, None, None)
                block.pgconn.finish()
                raise psycopg.OperationalError("the connection is lost")
            return True

    tx._own._block = Cut()


async def test_redis_says_what_to_do_instead(
    request: pytest.FixtureRequest, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_ACCEPT_UNSAFE", "persistence")
    place = make_place("redis", tmp_path, request)
    app = Penstock(place.address, schema=place.schema)
    said: list[str] = []

    @app.task(retry="none")
    async def pay(ctx: Context) -> None:
        try:
            async with ctx.transaction():
                pass
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")

    async with app:
        await pay.aenqueue()
        await app.worker().run(burst=True)
    assert said[0].startswith("NotSupported")
    assert "ctx.once(name, connection=…)" in said[0]
    assert "ctx.key_for" in said[0]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_same_transactions_serve_one_loop_after_the_other(
    kind: str, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    with lent_place(make_place(kind, tmp_path, request)) as place:
        await _migrated(place)
        made = transactions(url_of(place), place.schema, EngineClock(), lambda: None, 2)  # type: ignore[arg-type, return-value]

        async def ask() -> Any:
            block = await made.abegin(LEASE)
            [found] = await (await block.execute("select 1", ())).fetchone()
            await block.commit()
            return found

        assert [await asyncio.to_thread(lambda: asyncio.run(ask())) for _ in range(3)] == [1, 1, 1]
        made.close()


async def _migrated(place: Place) -> None:
    engine = place.engine()
    await engine.migrate()
    await engine.close()
