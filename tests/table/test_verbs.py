"""Claim, complete, end, recover, stage: what each promises, on both databases."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.model.errors import InvalidOption, LeaseLost
from penstock.table import tally
from penstock.table.tally import tallies
from penstock.table.values import Duplicate, Ended, Ending, Recovered, Refused
from table.kit import Books, complete

BACK = Ending(status="queued", refund=1)


def ids(found: list[Any]) -> list[int]:
    return [taken.id for taken in found]


def test_rows_are_claimed_in_order_by_the_batch_each_once(books: Books) -> None:
    books.invoices(5)
    books.sql("update invoices set created_at = '2025-01-01 00:00:00' where id = 4")
    store, other = books.declare(), books.declare()
    first, second, third = store.claim(2), other.claim(2), store.claim(2)
    assert (ids(first), ids(second), ids(third)) == ([4, 1], [2, 3], [5])
    assert books.statuses() == ["started"] * 5
    assert len({taken.token for taken in first + second + third}) == 5
    assert store.claim(2) == []


def test_a_claimed_row_is_given_as_it_is_now_by_item_and_by_attribute(books: Books) -> None:
    books.invoices(1)
    [taken] = books.declare().claim(1)
    row = taken.row
    assert (row.id, row["total"], row.status, row.attempts, taken.attempt) == (1, 10, "started", 1, 1)
    assert {"id", "total", "created_at", "status", "claim"} <= set(row)
    with pytest.raises(AttributeError, match="no column 'price'; it has id"):
        row.price  # noqa: B018
    assert "10" not in repr(row)


def test_only_queued_rows_are_claimed(books: Books) -> None:
    books.invoices(4)
    for number, status in ((1, "draft"), (2, "completed"), (3, "failed")):
        books.sql(f"update invoices set status = '{status}' where id = {number}")
    assert ids(books.declare().claim(10)) == [4]


def test_a_row_and_its_output_are_completed_together(books: Books) -> None:
    books.invoices(1)
    store = books.declare()
    [taken] = store.claim(1)
    assert complete(store, taken, {"text": "thanks"}) is Ended.COMPLETED
    assert books.receipts() == [(1, "thanks")]
    [(status, completed_at, claim)] = books.rows("status, completed_at, claim")
    assert (status, claim) == ("completed", None)
    assert str(completed_at).startswith("2026-01-05 12:00:00")


def test_an_output_that_the_database_refuses_leaves_the_row_as_it_was(books: Books) -> None:
    books.invoices(1)
    books.sql("create unique index one_text on receipts (text)")
    books.sql("insert into receipts (invoice_id, text) values (99, 'thanks')")
    store = books.declare()
    [taken] = store.claim(1)
    with pytest.raises(Refused, match=r"(?i)unique"):
        complete(store, taken, {"text": "thanks"})
    assert books.statuses() == ["started"]
    assert complete(store, taken, {"text": "thank you"}) is Ended.COMPLETED


def test_a_second_output_is_never_written(books: Books) -> None:
    books.invoices(1)
    store = books.declare()
    [taken] = store.claim(1)
    books.sql("insert into receipts (invoice_id, text) values (1, 'made by hand')")
    assert complete(store, taken, {"text": "made by us"}) is Ended.DUPLICATE
    assert books.receipts() == [(1, "made by hand")]
    assert books.statuses() == ["completed"]


def test_an_output_that_somebody_makes_at_the_same_moment_is_the_only_one(postgres_books: Books) -> None:
    """Ours looks before theirs is committed; the unique index then refuses ours. SQLite has one writer."""
    books = postgres_books
    books.invoices(1)
    store = books.declare()
    [taken] = store.claim(1)
    books.sql("begin")
    books.sql("insert into receipts (invoice_id, text) values (1, 'theirs')")
    ended: list[Ended] = []
    ours = threading.Thread(target=lambda: ended.append(complete(store, taken, {"text": "ours"})))
    ours.start()
    blocked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert%'"
    while books.sql(blocked) == [(0,)]:
        books.sql("select pg_stat_clear_snapshot()")
    books.sql("commit")
    ours.join()
    assert ended == [Ended.DUPLICATE]
    assert books.receipts() == [(1, "theirs")]
    assert books.statuses() == ["completed"]


def test_whoever_lost_a_row_can_neither_complete_nor_end_it(books: Books) -> None:
    books.invoices(1)
    store = books.declare()
    [zombie] = store.claim(1)
    books.clock.advance(601)
    assert store.recover(10) == [Recovered(1, "queued")]
    assert complete(store, zombie, {"text": "zombie"}) is Ended.LOST
    [living] = store.claim(1)
    assert complete(store, zombie, {"text": "zombie"}) is Ended.LOST
    assert not store.end(zombie, BACK)
    with pytest.raises(LeaseLost, match="has passed on"), store.settling(zombie):
        pytest.fail("the block was entered")
    assert complete(store, living, {"text": "living"}) is Ended.COMPLETED
    assert complete(store, living, {"text": "again"}) is Ended.LOST
    assert books.receipts() == [(1, "living")]


def test_a_stuck_row_is_completed_where_its_output_exists(books: Books) -> None:
    books.invoices(2)
    store = books.declare()
    store.claim(2)
    books.sql("insert into receipts (invoice_id, text) values (2, 'made')")
    books.clock.advance(599)
    assert store.recover(10) == []
    books.clock.advance(1)
    assert sorted(store.recover(10)) == [(1, "queued"), (2, "completed")]
    assert books.rows("status, attempts, stuck") == [("queued", 0, 1), ("completed", 1, 0)]


def test_a_row_is_taken_back_three_times_and_then_fails(books: Books) -> None:
    books.invoices(1)
    store = books.declare()
    for stuck in (1, 2, 3):
        assert len(store.claim(1)) == 1
        books.clock.advance(600)
        assert store.recover(10) == [(1, "queued")]
        assert books.rows("stuck, error") == [(stuck, None)]
    assert len(store.claim(1)) == 1
    books.clock.advance(600)
    assert store.recover(10) == [(1, "failed")]
    assert books.rows("error") == [("stuck: taken back 3 times, and never ended",)]
    assert store.claim(1) == []


def test_stuck_rows_are_taken_back_in_bounded_steps(books: Books) -> None:
    books.invoices(5)
    store = books.declare()
    store.claim(5)
    books.clock.advance(600)
    assert [len(store.recover(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_row_that_was_started_without_a_time_counts_from_when_it_is_seen(books: Books) -> None:
    books.invoices(1, status="started")
    store = books.declare()
    assert store.recover(10) == []
    books.clock.advance(600)
    assert store.recover(10) == [(1, "queued")]


def test_rows_that_were_started_without_a_time_are_seen_in_bounded_steps(books: Books) -> None:
    books.invoices(5, status="started")
    store = books.declare()
    left = []
    for _ in range(4):
        store.recover(2)
        left.append(sum(at is None for (at,) in books.rows("started_at")))
    assert left == [3, 1, 0, 0]


def test_a_row_handed_back_is_as_it_was_before_it_was_taken(books: Books) -> None:
    books.invoices(2)
    store = books.declare()
    before = books.rows("*")
    taken = store.claim(2)
    assert all(store.end(row, BACK) for row in taken)
    assert books.rows("*") == before


def test_a_row_that_waits_for_its_next_attempt_is_claimed_when_that_is_due(books: Books) -> None:
    books.invoices(2)
    store = books.declare()
    [first] = store.claim(1)
    assert store.end(first, Ending(status="queued", error="ValueError: no", delay=5.0))
    assert ids(store.claim(10)) == [2]
    books.clock.advance(4)
    assert store.stage(10) == 0
    books.clock.advance(1)
    assert store.stage(10) == 1
    [again] = store.claim(10)
    assert (again.id, again.attempt, again.row.error) == (1, 2, "ValueError: no")


def test_the_handlers_own_writes_and_the_completion_are_one_transaction(books: Books) -> None:
    books.invoices(2)
    store = books.declare()
    one, two = store.claim(2)
    insert = f"insert into {books.output} (invoice_id, text) values ({books.mark}, {books.mark})"
    with store.settling(one) as tx:
        assert tx.execute(insert, (1, "own")).rowcount == 1
        assert tx.execute(f"select count(*) from {books.output}").fetchone() == (1,)

    def broken() -> None:
        with store.settling(two) as tx:
            tx.execute(insert, (2, "never"))
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it is ours
        broken()
    assert books.receipts() == [(1, "own")]
    assert books.statuses() == ["completed", "started"]


def test_a_transaction_on_a_row_with_its_output_completes_it_and_runs_nothing(books: Books) -> None:
    books.invoices(1)
    store = books.declare()
    [taken] = store.claim(1)
    books.sql("insert into receipts (invoice_id, text) values (1, 'there')")
    with pytest.raises(Duplicate), store.settling(taken):
        pytest.fail("the block was entered")
    assert books.statuses() == ["completed"]


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({'text") values (1); drop table receipts; --': 1}, "not allowed"),
        ({"": 1}, "not allowed"),
        ({"invoice_id": 2}, "leave it out"),
        (["text"], "returned list"),
        ("text", "returned str"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_anything_is_written(
    books: Books, output: Any, why: str
) -> None:
    books.invoices(1)
    store = books.declare()
    [taken] = store.claim(1)
    with pytest.raises(InvalidOption, match=why):
        complete(store, taken, output)
    assert (books.receipts(), books.statuses()) == ([], ["started"])


def test_a_table_without_output_is_only_completed(books: Books) -> None:
    books.invoices(1)
    store = books.declare(output=None, source_column=None)
    [taken] = store.claim(1)
    with pytest.raises(InvalidOption, match="no output="):
        complete(store, taken, {"text": "x"})
    assert complete(store, taken, None) is Ended.COMPLETED
    assert books.statuses() == ["completed"]


def test_words_and_columns_may_be_the_users_own(books: Books) -> None:
    books.sql("alter table invoices add column phase varchar(20)")
    books.sql("alter table invoices add column begun timestamp")
    books.sql("alter table invoices add column why varchar(10)")
    books.invoices(3)
    books.sql("update invoices set phase = 'to do'")
    store = books.declare(
        status_column="phase",
        started_column="begun",
        error_column="why",
        queued="to do",
        started="doing",
        completed="done",
        failed="broken",
    )
    one, two, _ = store.claim(3)
    complete(store, one, {"text": "x"})
    store.end(two, Ending(status="broken", error="ValueError: much too long for the column"))
    assert books.rows("phase, why")[1][1].startswith("ValueError")
    assert str(books.rows("begun")[2][0])[:19] == "2026-01-05 12:00:00"  # UTC, in a column without a zone
    books.clock.advance(600)
    store.recover(10)
    assert [phase for (phase,) in books.rows("phase")] == ["done", "broken", "to do"]
    assert books.statuses() == ["queued"] * 3


def test_the_status_may_be_an_enum(postgres_books: Books) -> None:
    books = postgres_books
    books.sql("create type phase as enum ('queued', 'started', 'completed', 'failed')")
    books.sql("alter table invoices alter column status type phase using status::phase")
    books.invoices(4)
    store = books.declare(max_stuck=0)
    one, two, _, _ = store.claim(4)
    complete(store, one, {"text": "x"})
    store.end(two, BACK)
    books.sql("insert into receipts (invoice_id) values (3)")
    books.clock.advance(600)
    store.recover(10)
    assert books.statuses() == ["completed", "queued", "completed", "failed"]


def test_the_tally_counts_by_status_the_stuck_and_the_delayed(books: Books) -> None:
    books.invoices(4)
    store = books.declare()
    one, _ = store.claim(2)
    store.end(one, Ending(status="queued", error="x", delay=60.0))
    books.clock.advance(600)
    found = {each.status: each for each in tallies(store)}
    queued, started = found["queued"], found["started"]
    assert (queued.rows, queued.delayed, queued.stuck) == (3, 1, 0)
    assert str(queued.first).startswith("2026-01-01 00:00:01")
    assert (started.rows, started.delayed, started.stuck) == (1, 0, 1)


def test_the_tally_of_a_large_table_is_an_estimate_but_for_what_an_index_tells(books: Books) -> None:
    store = books.declare()
    books.sql(
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 40000) "
        "insert into invoices (id, total, created_at, status) "
        "select i, 1, '2026-01-01 00:00:00', case when i % 4 = 0 then 'failed' else 'completed' end from n"
    )
    books.sql("update invoices set status = 'queued' where id in (7, 9, 11)")
    store.claim(1)
    found = {each.status: each for each in tallies(store)}
    assert [(found[s].rows, found[s].about) for s in ("queued", "started")] == [(2, False), (1, False)]
    assert 25_000 < found["completed"].rows < 35_000
    assert 7_000 < found["failed"].rows < 13_000
    assert found["failed"].about
    assert found["completed"].about


@pytest.mark.parametrize("books", ["sqlite"], indirect=True)
def test_the_tally_of_a_large_table_looks_through_none_of_it(books: Books) -> None:
    """On PostgreSQL the sample is the server's own."""
    store = books.declare()
    with store.transaction() as tx:
        values = {"now": None, "most": 10, "after": 1.0, "pages": 1, "picks": 5}
        for verb in ("counted", "sample"):
            for line in tx.fetch(f"explain query plan {store._sql[verb]}", values):
                assert "SCAN invoices" not in str(line) or "USING" in str(line), line


@pytest.mark.parametrize("books", ["sqlite"], indirect=True)
def test_a_table_without_rowid_is_counted_whole(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "EXACT", 2)
    books.sql("drop table invoices")
    books.sql("create table invoices (id integer primary key, total, created_at text, status) without rowid")
    books.invoices(4)
    [queued] = tallies(books.declare())
    assert (queued.rows, queued.about) == (4, False)


def test_rows_are_completed_together_and_one_that_cannot_be_spoils_no_other(books: Books) -> None:
    books.invoices(6)
    books.sql("create unique index one_text on receipts (text)")
    store = books.declare()
    taken = store.claim(6)
    books.sql("insert into receipts (invoice_id, text) values (2, 'made by hand')")
    store.end(taken[2], BACK)
    outputs: list[Any] = [{"text": "one"}, {"text": "two"}, {"text": "three"}, {"text": "one"}, None, {}]
    ended = store.complete([store.ready(row, output) for row, output in zip(taken, outputs, strict=True)])
    done = Ended.COMPLETED
    assert [*ended[:3], *ended[4:]] == [done, Ended.DUPLICATE, Ended.LOST, done, done]
    assert isinstance(ended[3], Refused)
    assert books.receipts() == [(1, "one"), (2, "made by hand"), (6, None)]
    assert books.statuses() == ["completed", "completed", "queued", "started", "completed", "completed"]
