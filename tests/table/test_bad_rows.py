"""A row that cannot be started, read, taken back or written spoils itself, and no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import Retry
from penstock.model.errors import AccessRefused, EngineError
from penstock.table import store as stores
from penstock.table.context import RowContext
from table.kit import Books, PostgresBooks, SqliteBooks

BAD = 3


def make_unreadable(books: Books) -> None:
    """Give a row a value that the database holds and the driver cannot read."""
    if isinstance(books, PostgresBooks):
        books.sql("alter table invoices add column valid_until timestamptz")
        books.sql(f"update invoices set valid_until = 'infinity' where id = {BAD}")
    else:
        books.sql("alter table invoices add column valid_until text")
        books.sql(f"update invoices set valid_until = cast(x'ff41' as text) where id = {BAD}")


def refuse_changes(books: Books, when: str) -> None:
    """Let no row change its status, or when it may be tried again, under a condition."""
    if isinstance(books, PostgresBooks):
        books.sql(
            f"create function {books.schema}.refuse() returns trigger language plpgsql as "
            "$$ begin raise exception 'not this one'; end $$"
        )
        books.sql(
            f"create trigger refuse before update on invoices for each row when ({when}) "
            f"execute function {books.schema}.refuse()"
        )
    else:
        books.sql(
            f"create trigger refuse before update on invoices when {when} "
            "begin select raise(abort, 'not this one'); end"
        )


def ids(found: list[Any]) -> list[Any]:
    return [one.id for one in found]


async def test_a_row_that_cannot_be_read_fails_alone_and_is_not_run(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(5)
    make_unreadable(books)
    ran = []

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        ran.append(row.id)
        return {"text": "made"}

    assert await books.work(process) == 5
    assert sorted(ran) == [1, 2, 4, 5]
    assert books.statuses() == ["completed", "completed", "failed", "completed", "completed"]
    [(error,)] = books.sql(f"select error from invoices where id = {BAD}")
    assert error.startswith("the row cannot be read: column 'valid_until'")
    assert "\\xff" not in caplog.text


async def test_a_row_that_cannot_be_started_holds_up_no_other(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    books.invoices(30)
    books.declare()
    refuse_changes(books, f"old.id = {BAD}")
    assert await books.work(batch=10) == 29
    assert books.statuses() == ["completed"] * (BAD - 1) + ["queued"] + ["completed"] * (30 - BAD)
    assert caplog.text.count(f"row {BAD} of invoices") == 1


def test_a_row_that_could_not_be_started_is_tried_again_later(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.invoices(4)
    store = books.declare()
    refuse_changes(books, f"old.id = {BAD}")
    assert ids(store.claim(10)) == [1, 2, 4]
    books.sql("drop trigger refuse on invoices" if books.mark == "%s" else "drop trigger refuse")
    assert store.claim(10) == []
    for aside in store._aside.values():
        aside._until = dict.fromkeys(aside._until, 0.0)
    assert ids(store.claim(10)) == [BAD]


def test_a_table_in_which_no_row_can_be_started_says_so(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MOST_ASIDE", 5)
    books.invoices(8)
    store = books.declare()
    refuse_changes(books, "true" if books.mark == "%s" else "1")
    with pytest.raises(EngineError, match="not this one"):
        store.claim(10)


def test_stuck_rows_are_taken_back_though_one_of_them_cannot_be(books: Books) -> None:
    books.invoices(5)
    store = books.declare(stuck_after=60)
    store.claim(5)
    books.clock.advance(61)
    refuse_changes(books, f"old.id = {BAD}")
    assert sorted(ids(store.recover(100))) == [1, 2, 4, 5]
    assert books.statuses().count("queued") == 4


def test_rows_started_by_hand_are_dated_though_one_of_them_cannot_be(books: Books) -> None:
    books.invoices(4, status="started")
    store = books.declare()
    refuse_changes(books, f"old.id = {BAD}")
    store.recover(100)
    undated = books.sql("select id from invoices where started_at is null")
    assert undated == [(BAD,)]


def test_waits_end_though_one_row_refuses(books: Books) -> None:
    books.invoices(5)
    store = books.declare()
    books.sql("update invoices set retry_at = '2020-01-01 00:00:00'")
    refuse_changes(books, f"old.id = {BAD}")
    assert store.stage(100) == 4
    assert ids(store.claim(10)) == [1, 2, 4, 5]


def test_a_right_that_is_missing_is_no_fault_of_a_row(
    postgres_books: PostgresBooks, caplog: pytest.LogCaptureFixture
) -> None:
    postgres_books.invoices(2)
    store = postgres_books.declare()
    role = f"r_{postgres_books.schema}"
    postgres_books.sql(f"create role {role}")
    with store.statement() as tx:
        tx.execute(f"set role {role}")
    with pytest.raises(AccessRefused):
        store.claim(2)
    assert "aside" not in caplog.text
    postgres_books.sql(f"drop role {role}")


def unwritable(books: Books) -> Any:
    """A value of an output at which the driver gives up before the database has seen it."""
    return {"at": object()} if isinstance(books, PostgresBooks) else 2**70


async def test_an_output_that_cannot_be_written_fails_its_own_row_only(books: Books) -> None:
    books.invoices(6)
    kind = "jsonb" if isinstance(books, PostgresBooks) else "integer"
    books.sql(f"alter table receipts add column more {kind}")
    together = asyncio.Barrier(6)

    async def process(ctx: RowContext, row: Any) -> dict[str, Any]:
        await together.wait()
        return {"text": "made", "more": unwritable(books) if row.id == BAD else None}

    await books.work(process, retry=Retry(1))
    assert books.statuses() == ["completed"] * 2 + ["failed"] + ["completed"] * 3
    assert len(books.receipts()) == 5
    [(error,)] = books.sql(f"select error from invoices where id = {BAD}")
    assert "Error" in error


def test_a_text_id_that_is_not_utf8_leaves_the_others_alone(tmp_path: Any, clock: Any) -> None:
    books = SqliteBooks(tmp_path / "ids.db", f"sqlite:///{tmp_path / 'jobs.db'}", clock)
    books.sql("create table invoices (id text primary key, total integer, created_at text, status text)")
    books.sql("create table receipts (id integer primary key, invoice_id text, text text)")
    books.sql("insert into invoices values (cast(x'ff' as text), 1, '1', 'queued'), ('b', 1, '2', 'queued')")
    store = books.declare(stuck_after=60)
    assert ids(store.claim(10)) == ["b"]
    books.clock.advance(61)
    assert len(store.recover(10)) == 2
    books.close()
