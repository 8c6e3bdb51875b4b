"""Rows from claim to end: handlers that return, raise, write for themselves, and are stopped."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import psycopg
import pytest

from penstock import NoOp, Snooze, Unrecoverable
from penstock.table.context import RowContext, SyncRowContext
from penstock.table.values import Ending
from table.kit import Books, receipt


async def test_each_row_gets_its_output_once(books: Books) -> None:
    books.invoices(25)
    assert await books.work(batch=10) == 25
    assert books.statuses() == ["completed"] * 25
    assert books.receipts() == [(n, f"receipt of {n * 10}") for n in range(1, 26)]


async def test_a_plain_function_works_on_rows_in_threads(books: Books) -> None:
    books.invoices(3)
    threads = set()

    def process(ctx: SyncRowContext, row: Any) -> dict[str, Any]:
        threads.add(threading.current_thread())
        return {"text": f"{row.total} in attempt {ctx.attempt}"}

    await books.work(process)
    assert [text for _, text in books.receipts()] == ["10 in attempt 1", "20 in attempt 1", "30 in attempt 1"]
    assert threading.main_thread() not in threads


async def test_several_workers_share_the_rows(books: Books) -> None:
    books.invoices(60)
    books.declare(batch=5)
    workers = [books.app.table_worker() for _ in range(4)]
    assert sum(await asyncio.gather(*(worker.run(burst=True) for worker in workers))) == 60
    assert len(books.receipts()) == 60


async def test_an_output_that_is_there_is_found_before_the_handler_runs(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(2)
    books.sql("insert into receipts (invoice_id, text) values (1, 'there')")
    ran = []

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        ran.append(row.id)
        return {"text": "made"}

    await books.work(process)
    assert ran == [2]
    assert books.receipts() == [(1, "there"), (2, "made")]
    assert books.statuses() == ["completed"] * 2
    assert "duplicate prevented: row 1 of invoices" in caplog.text


async def test_an_error_is_tried_again_after_a_wait_and_fails_after_the_last_attempt(books: Books) -> None:
    books.invoices(1)
    attempts = []

    async def process(ctx: RowContext, row: Any) -> None:
        attempts.append(ctx.attempt)
        raise ValueError(f"no {row.total}")

    books.declare(process, retry=3)
    for _ in range(5):
        await books.app.table_worker().run(burst=True)
        await books.app.table_worker().run(burst=True)  # nothing is due yet
        books.clock.advance(60)
    assert attempts == [1, 2, 3]
    assert books.rows("status, error, attempts") == [("failed", "ValueError: no 10", 3)]


async def test_the_error_of_an_attempt_is_gone_when_the_next_one_succeeds(books: Books) -> None:
    books.invoices(1)

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        if ctx.attempt == 1:
            raise ConnectionResetError
        return {"text": "second"}

    books.declare(process)
    await books.app.table_worker().run(burst=True)
    assert books.rows("status, error") == [("queued", "ConnectionResetError: ")]
    books.clock.advance(60)
    await books.app.table_worker().run(burst=True)
    assert books.rows("status, error") == [("completed", None)]


async def test_what_a_handler_raises_means_the_same_as_in_a_task(books: Books) -> None:
    books.invoices(5)

    async def process(ctx: RowContext, row: Any) -> None:
        raise {
            1: Unrecoverable("no such customer"),
            2: Snooze(30, "not before noon"),
            3: NoOp("deleted"),
            4: SystemExit(3),
            5: asyncio.CancelledError(),
        }[row.id]

    await books.work(process)
    found = books.rows("status, error, attempts")
    assert found[:3] == [
        ("failed", "Unrecoverable: no such customer", 1),
        ("queued", None, 0),
        ("completed", None, 1),
    ]
    assert [row[:2] for row in found[3:]] == [("queued", "SystemExit: 3"), ("queued", "CancelledError: ")]
    assert all(at is not None for (at,) in (books.rows("retry_at")[n] for n in (1, 3, 4)))


@pytest.mark.parametrize("returned", [{"no_such_column": 1}, {"text; drop": 1}, ["text"], {"id": "x y"}])
async def test_an_output_that_cannot_be_written_fails_its_row_and_no_other(
    books: Books, returned: Any
) -> None:
    books.invoices(2)

    async def process(ctx: RowContext, row: Any) -> Any:
        return returned if row.id == 1 else {"text": "good"}

    await books.work(process, retry="none")
    assert books.statuses() == ["failed", "completed"]
    assert books.receipts() == [(2, "good")]


async def test_an_async_handler_writes_in_its_own_transaction(books: Books) -> None:
    books.invoices(2)

    async def process(ctx: RowContext, row: Any) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(
                f"insert into {books.output} (invoice_id, text) values ({books.mark}, {books.mark})",
                (row.id, "own"),
            )
            if row.id == 2:
                raise ValueError("rolled back")
            found = await tx.execute(f"select count(*) from {books.output}")
            assert found.fetchone() == (1,)

    await books.work(process, retry="none")
    assert books.receipts() == [(1, "own")]
    assert books.rows("status, error") == [("completed", None), ("failed", "ValueError: rolled back")]


async def test_a_plain_function_writes_in_its_own_transaction(books: Books) -> None:
    books.invoices(1)

    def process(ctx: SyncRowContext, row: Any) -> None:
        with ctx.transaction() as tx:
            assert tx.connection is not None
            tx.execute(f"insert into {books.output} (invoice_id, text) values ({row.id}, 'own')")

    await books.work(process)
    assert (books.receipts(), books.statuses()) == ([(1, "own")], ["completed"])


async def test_a_handler_cannot_end_its_transaction_and_nothing_of_it_is_kept(books: Books) -> None:
    books.invoices(2)

    def process(ctx: SyncRowContext, row: Any) -> None:
        with ctx.transaction() as tx:
            execute = tx.execute if row.id == 1 else tx.connection.execute
            execute("savepoint here")
            execute(f"insert into {books.output} (invoice_id, text) values ({row.id}, 'own')")
            execute("commit")

    await books.work(process)
    assert books.receipts() == []
    for status, error in books.rows("status, error"):
        assert status == "failed"
        assert "InvalidOption: commit: the work of ctx.transaction() is committed" in error


async def test_a_transaction_in_which_a_statement_failed_completes_no_row(postgres_books: Books) -> None:
    postgres_books.invoices(1)

    def process(ctx: SyncRowContext, row: Any) -> None:
        with ctx.transaction() as tx, pytest.raises(psycopg.Error):
            tx.execute("select 1 / 0")

    await postgres_books.work(process, retry="none")
    [(status, error)] = postgres_books.rows("status, error")
    assert status == "failed"
    assert "nothing of it can be kept" in error


async def test_what_is_raised_or_returned_after_the_transaction_changes_nothing(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(3)

    async def process(ctx: RowContext, row: Any) -> Any:
        async with ctx.transaction() as tx:
            await tx.execute(f"insert into {books.output} (invoice_id, text) values ({row.id}, 'own')")
        if row.id == 1:
            raise ValueError("late")
        if row.id == 2:
            async with ctx.transaction():
                pytest.fail("a second transaction was opened")
        return {"text": "late"}

    await books.work(process)
    assert books.statuses() == ["completed"] * 3
    assert [text for _, text in books.receipts()] == ["own"] * 3
    for said in ("ValueError: late", "one transaction per attempt", "what was returned is not stored"):
        assert said in caplog.text


async def test_a_transaction_that_finds_the_output_ends_the_run(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(1)

    async def process(ctx: RowContext, row: Any) -> None:
        books.sql("insert into receipts (invoice_id, text) values (1, 'theirs')")
        async with ctx.transaction():
            pytest.fail("the block was entered")

    await books.work(process)
    assert (books.receipts(), books.statuses()) == ([(1, "theirs")], ["completed"])
    assert "duplicate prevented: row 1 of invoices" in caplog.text


async def test_a_run_that_took_too_long_is_refused(books: Books, caplog: pytest.LogCaptureFixture) -> None:
    books.invoices(1)
    store = books.declare()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        if ctx.attempt == 1 and not row.stuck:
            books.clock.advance(600)
            store.recover(10)
            [taken] = store.claim(1)
            assert taken.id == row.id
        return {"text": "zombie"}

    books.declare(process)
    await books.app.table_worker().run(burst=True)
    assert (books.receipts(), books.statuses()) == ([], ["started"])
    assert "row 1 of invoices has passed on" in caplog.text


async def test_an_async_handler_is_stopped_before_its_row_counts_as_stuck(books: Books) -> None:
    books.invoices(1)

    async def process(ctx: RowContext, row: Any) -> None:
        await asyncio.Event().wait()

    await books.work(process, stuck_after=1, retry="none")
    assert books.rows("status, error") == [("failed", "JobTimeout: ran longer than its timeout of 0.9 s")]


async def test_the_key_is_the_same_in_every_attempt_and_differs_by_provider(books: Books) -> None:
    books.invoices(1)
    keys = []

    async def process(ctx: RowContext, row: Any) -> None:
        keys.append((ctx.key, ctx.key_for("stripe"), ctx.key_for("mail")))
        ctx.log.info("working")
        raise ValueError

    books.declare(process, retry=2)
    for _ in range(2):
        await books.app.table_worker().run(burst=True)
        books.clock.advance(60)
    assert keys[0] == keys[1]
    assert len({*keys[0]}) == 3
    assert keys[0][0] == "invoices:1"


# -- life ---------------------------------------------------------------------------------------------
async def test_beside_a_web_server_rows_are_worked_on_from_start_to_end(books: Books) -> None:
    books.invoices(1)
    done = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        done.set()
        return {"text": "made"}

    books.declare(process)
    async with books.app.table_worker() as worker:
        await done.wait()
        done.clear()
        books.sql("insert into invoices (id, status, created_at) values (2, 'queued', '2026-01-01 00:00:00')")
        worker.wake()
        await done.wait()
    assert books.receipts() == [(1, "made"), (2, "made")]


async def test_a_drain_lets_handlers_finish(books: Books) -> None:
    books.invoices(3)
    begun, go = asyncio.Event(), asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        begun.set()
        await go.wait()
        return {"text": "made"}

    books.declare(process, batch=2)
    worker = books.app.table_worker()
    running = asyncio.create_task(worker.run())
    await begun.wait()
    worker.drain()
    go.set()
    assert await running == 2
    assert books.statuses() == ["completed", "completed", "queued"]


@pytest.mark.parametrize("now", [True, False])
async def test_a_handler_that_does_not_finish_in_time_is_stopped_and_its_row_handed_back(
    books: Books, now: bool
) -> None:
    books.invoices(2)
    books.declare()
    before = books.rows("*")
    begun = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        begun.set()
        await asyncio.Event().wait()
        return {}

    books.declare(process)
    worker = books.app.table_worker(grace=60 if now else 0)
    running = asyncio.create_task(worker.run())
    await begun.wait()
    worker.drain(now=now)
    await running
    assert books.rows("*") == before


async def test_rows_claimed_at_the_moment_of_the_drain_are_handed_back_unrun(books: Books) -> None:
    books.invoices(3)
    books.declare()
    before = books.rows("*")
    worker = books.app.table_worker()
    await worker.open()
    [store] = worker._stores
    claim = store.claim

    def drained_meanwhile(limit: int) -> Any:
        taken = claim(limit)
        loop.call_soon_threadsafe(worker.drain)
        return taken

    loop = asyncio.get_running_loop()
    store.claim = drained_meanwhile  # type: ignore[method-assign]
    assert await worker.work() == 0
    await worker.close()
    assert books.rows("*") == before


async def test_a_cancelled_worker_hands_its_rows_back(books: Books) -> None:
    books.invoices(2)
    books.declare()
    before = books.rows("*")
    begun = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        begun.set()
        await asyncio.Event().wait()
        return {}

    books.declare(process)
    running = asyncio.create_task(books.app.table_worker(grace=0).run())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert books.rows("*") == before


async def test_a_thread_that_outlives_the_worker_keeps_its_row_until_it_is_stuck(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(1)
    begun, go = threading.Event(), threading.Event()

    def process(ctx: SyncRowContext, row: Any) -> dict[str, Any]:
        begun.set()
        go.wait(30)
        return {"text": "late"}

    books.declare(process)
    worker = books.app.table_worker(grace=0)
    running = asyncio.create_task(worker.run())
    await asyncio.to_thread(begun.wait, 30)
    worker.drain()
    await running
    assert books.statuses() == ["started"]
    assert "still runs in its thread" in caplog.text
    go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("penstock-table"):
            await asyncio.to_thread(thread.join, 30)


async def test_a_handlers_transaction_that_is_cancelled_is_rolled_back(books: Books) -> None:
    books.invoices(1)
    begun = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(f"insert into {books.output} (invoice_id, text) values (1, 'never')")
            begun.set()
            await asyncio.Event().wait()

    books.declare(process)
    worker = books.app.table_worker(grace=0)
    running = asyncio.create_task(worker.run())
    await begun.wait()
    worker.drain(now=True)
    await running
    assert (books.receipts(), books.statuses()) == ([], ["queued"])


async def test_postgres_tells_of_new_rows(postgres_books: Books) -> None:
    done = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        done.set()
        return {"text": "made"}

    postgres_books.declare(process, wake=True, poll=3600)
    async with postgres_books.app.table_worker() as worker:
        [runner] = worker._runners
        while not (await _listeners(postgres_books)):
            await asyncio.sleep(0)
        runner._stirred.clear()
        await asyncio.sleep(0)
        postgres_books.invoices(1)
        await asyncio.wait_for(done.wait(), 30)
    assert postgres_books.receipts() == [(1, "made")]


async def _listeners(books: Books) -> int:
    sql = "select count(*) from pg_stat_activity where query = 'listen penstock_table'"
    [(n,)] = await asyncio.to_thread(books.sql, sql)
    return n


async def test_an_outage_is_outlived(books: Books, caplog: pytest.LogCaptureFixture) -> None:
    """The table is gone and comes back: rows are worked on as if nothing had been."""
    books.invoices(1)
    books.declare(poll=0.05)
    books.sql("alter table invoices rename to elsewhere")
    worker = books.app.table_worker()
    books.sql("alter table elsewhere rename to invoices")
    await worker.open()
    books.sql("alter table invoices rename to elsewhere")
    working = asyncio.create_task(worker.work())
    with caplog.at_level(logging.WARNING):
        while "trying on" not in caplog.text:
            await asyncio.sleep(0.01)
    books.sql("alter table elsewhere rename to invoices")
    while books.statuses() != ["completed"]:
        await asyncio.sleep(0.01)
    worker.drain()
    await working
    await worker.close()
    assert books.receipts() == [(1, "receipt of 10")]


async def test_settling_is_tried_on_while_the_database_is_away(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.model.errors import EngineUnavailable
    from penstock.table.store import Store

    books.invoices(1)
    complete, failures = Store.complete, [EngineUnavailable("away"), EngineUnavailable("still away")]

    def unreliable(self: Store, *args: Any) -> Any:
        if failures:
            raise failures.pop()
        return complete(self, *args)

    monkeypatch.setattr(Store, "complete", unreliable)
    await books.work()
    assert books.receipts() == [(1, "receipt of 10")]


async def test_stuck_rows_are_taken_back_by_whoever_works(books: Books) -> None:
    books.invoices(2)
    store = books.declare()
    store.claim(2)
    books.sql("insert into receipts (invoice_id, text) values (2, 'made before the crash')")
    books.clock.advance(600)
    assert await books.app.table_worker().run(burst=True) == 1
    assert books.statuses() == ["completed"] * 2
    assert books.receipts() == [(1, "receipt of 10"), (2, "made before the crash")]


async def test_two_tables_are_worked_on_by_one_worker(books: Books) -> None:
    books.invoices(2)
    books.declare()
    books.sql("alter table receipts add column status varchar(20) default 'queued'")
    books.sql("alter table receipts add column created_at varchar(20)")
    seen = []

    async def send(ctx: RowContext, row: Any) -> None:
        seen.append(row.text)

    books.app.table("receipts", **books.options)(send)
    receipts = books.app.table_store(books.app.tables["receipts"])
    books.migrate(receipts)
    receipts.close()
    async with books.app.table_worker() as worker:
        while len(seen) < 2:
            worker.wake()
            await asyncio.sleep(0.01)
    assert sorted(seen) == ["receipt of 10", "receipt of 20"]


def test_a_store_is_used_by_many_threads(books: Books) -> None:
    books.invoices(40)
    store = books.declare()
    taken: list[int] = []

    def take() -> None:
        while found := store.claim(3):
            for row in found:
                store.end(row, Ending(status="failed", error="x"))
                taken.append(row.id)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 41))


async def test_the_function_stays_the_users_own(books: Books) -> None:
    books.declare()
    [table] = books.app.tables.values()
    assert table.handler is receipt


async def test_a_transaction_that_keeps_others_from_writing_is_cut(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    """SQLite has one writer: a handler that holds the transaction open would stop everybody."""
    from penstock.table import context
    from table.kit import SqliteBooks

    books = SqliteBooks(tmp_path / "books.db", f"sqlite:///{tmp_path / 'jobs.db'}", clock)
    books.create()
    books.invoices(2)
    monkeypatch.setattr(context, "CAP", 0.05)
    first_is_done = asyncio.Event()

    async def process(ctx: RowContext, row: Any) -> dict[str, Any] | None:
        if row.id == 2:
            first_is_done.set()
            return {"text": "in time"}
        async with ctx.transaction() as tx:
            while books.statuses() != ["started", "completed"]:
                await asyncio.sleep(0.01)
            await tx.execute("insert into receipts (invoice_id, text) values (1, 'too late')")
        return None

    await books.work(process, retry="none")
    books.close()
    assert books.receipts() == [(2, "in time")]
    [(status, error), _] = books.rows("status, error")
    assert status == "failed"
    assert "do the work before it, and only write in it" in error
