"""What is missing is printed or made; what is there is left alone; work without it is refused."""

from __future__ import annotations

import logging

import pytest

from penstock import Penstock, SchemaMissing
from penstock.table.migration import plan
from penstock.table.values import Refused
from table.kit import Books, PostgresBooks, receipt


async def test_work_without_the_columns_is_refused_with_the_sql_to_add_them(books: Books) -> None:
    books.invoices(1)
    store = books.declare(migrate=False)
    with pytest.raises(SchemaMissing, match="penstock table apply invoices") as refused:
        await books.app.table_worker().run(burst=True)
    assert books.statuses() == ["queued"]
    for column in ("started_at", "completed_at", "error", "attempts", "stuck", "retry_at", "claim"):
        assert f'"{column}"' in str(refused.value)
    sql = str(refused.value).partition("\n")[2]
    store.apply([statement for statement in sql.split(";") if statement.strip()], together=True)
    assert await books.app.table_worker().run(burst=True) == 1
    assert books.statuses() == ["completed"]


def test_what_is_planned_is_enough_and_only_once_needed(books: Books) -> None:
    store = books.declare(migrate=False)
    made = "\n".join(books.migrate(store))
    for part in ('"invoices_penstock_queued"', '"invoices_penstock_started"', "unique index"):
        assert part in made
    assert books.migrate(store) == []
    assert store.shape().once


def test_a_plan_may_be_applied_twice(postgres_books: Books) -> None:
    """By two who looked at the same time. SQLite knows no `if not exists` here: nothing changes."""
    store = postgres_books.declare(migrate=False, wake=True)
    steps = [step.sql for step in plan(store.table, store.shape(), store.dialect)]
    store.apply(steps, together=True)
    store.apply(steps, together=True)
    assert postgres_books.migrate(store) == []


def test_a_table_without_a_status_gets_one_and_its_rows_are_queued(books: Books) -> None:
    books.sql("alter table invoices rename column status to was")
    books.sql("insert into invoices (id, total, created_at) values (1, 10, '2026-01-01 00:00:00')")
    store = books.declare(migrate=False)
    first = plan(store.table, store.shape(), store.dialect)[0]
    assert "every row that is there becomes 'queued'" in first.why
    books.migrate(store)
    assert books.statuses() == ["queued"]


def test_columns_that_are_there_are_not_touched(books: Books) -> None:
    books.sql("alter table invoices add column started_at timestamp")
    books.sql("alter table invoices add column error varchar(200)")
    store = books.declare(migrate=False)
    made = "\n".join(books.migrate(store))
    assert 'add column if not exists "error"' not in made
    assert 'add column "error"' not in made


@pytest.mark.parametrize(
    "index",
    [
        "create unique index theirs on receipts (invoice_id)",
        "create unique index theirs on receipts (invoice_id) where invoice_id is not null",
    ],
)
def test_a_unique_index_of_the_users_own_is_found(books: Books, index: str) -> None:
    books.sql(index)
    assert books.declare(migrate=False).shape().once


@pytest.mark.parametrize(
    "index",
    [
        "create index theirs on receipts (invoice_id)",
        "create unique index theirs on receipts (invoice_id, text)",
        "create unique index theirs on receipts (invoice_id) where text is not null",
        "create unique index theirs on receipts (abs(invoice_id))",
    ],
)
def test_an_index_that_lets_a_second_output_in_does_not_count(books: Books, index: str) -> None:
    books.sql(index)
    assert not books.declare(migrate=False).shape().once


async def test_a_missing_unique_index_is_warned_of_with_the_sql(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    store = books.declare()
    books.sql("drop index receipts_invoice_id_once")
    with caplog.at_level(logging.WARNING):
        await books.app.table_worker().run(burst=True)
    [warning] = [record.message for record in caplog.records]
    sql = warning.partition("\n")[2]
    assert "create unique index" in sql
    store.apply([sql.rstrip(";")], together=True)
    assert store.shape().once


def test_outputs_that_are_there_twice_are_told_and_nothing_is_changed(books: Books) -> None:
    books.sql("insert into receipts (invoice_id) values (1), (1)")
    store = books.declare(migrate=False)
    before = store.shape()
    with pytest.raises(Refused):
        books.migrate(store)
    assert store.shape() == before


def test_indexes_may_be_built_concurrently_also_after_one_has_failed(postgres_books: Books) -> None:
    books = postgres_books
    books.sql("insert into receipts (invoice_id) values (1), (1)")
    store = books.declare(migrate=False)
    with pytest.raises(Refused):
        books.migrate(store, concurrently=True)
    books.sql("delete from receipts where id = 1")
    steps = books.migrate(store, concurrently=True)
    assert [step.partition(" if")[0] for step in steps] == ["drop index", "create unique index concurrently"]
    assert books.migrate(store) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"output": "nowhere"}, "no table 'nowhere'"),
        ({"source_column": "nothing"}, "no column 'nothing'.*of id, invoice_id, text"),
        ({"order_by": "priority"}, "order_by=, of id, total"),
        ({"id_column": "uid"}, "id_column=, of id, total"),
    ],
)
def test_what_is_the_users_to_make_is_asked_for(books: Books, options: dict[str, str], why: str) -> None:
    store = books.declare(migrate=False, **options)
    with pytest.raises(SchemaMissing, match=why):
        plan(store.table, store.shape(), store.dialect)


def test_a_view_is_no_table(books: Books) -> None:
    books.sql("alter table invoices rename to bills")
    books.sql("create view invoices as select * from bills")
    store = books.declare(migrate=False)
    with pytest.raises(SchemaMissing, match="no table 'invoices'"):
        plan(store.table, store.shape(), store.dialect)


@pytest.mark.parametrize(
    ("column", "kind", "wanted"),
    [
        ("attempts", "text", "integer; name another column with attempts_column="),
        ("stuck", "double precision", "integer"),
        ("started_at", "bigint", "time.*started_column="),
        ("retry_at", "integer", "retry_column="),
        ("claim", "numeric", "token_column="),
        ("error", "integer", "error_column="),
        ("status", "integer", "status_column="),
    ],
)
async def test_a_column_of_a_type_that_cannot_hold_it_is_refused(
    books: Books, column: str, kind: str, wanted: str
) -> None:
    if column == "status":
        books.sql("alter table invoices drop column status")
    books.sql(f"alter table invoices add column {column} {kind}")
    books.declare(migrate=False)
    with pytest.raises(
        SchemaMissing, match=f"(?i)'{column}' of 'invoices' is {kind}, and would have .*{wanted}"
    ):
        await books.app.table_worker().run(burst=True)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("character(20)", "is character, and"),
        ("varchar(8)", "has room for 8 characters, and 'completed' has more"),
        ("mood", "'queued'.*is none of the values of .*mood: sad, happy"),
    ],
)
def test_a_status_that_has_no_room_for_our_words_is_refused(
    postgres_books: Books, kind: str, why: str
) -> None:
    postgres_books.sql("create type mood as enum ('sad', 'happy')")
    postgres_books.sql(f"alter table invoices drop column status, add column status {kind}")
    store = postgres_books.declare(migrate=False)
    with pytest.raises(SchemaMissing, match=why):
        plan(store.table, store.shape(), store.dialect)


@pytest.mark.parametrize(
    ("attempts", "at"),
    [("bigint", "timestamp"), ("smallint", "timestamptz"), ("whole", "moment"), ("int", "local")],
)
async def test_columns_of_the_users_own_types_are_worked_with(books: Books, attempts: str, at: str) -> None:
    if isinstance(books, PostgresBooks):
        books.sql("create domain whole as integer")
        books.sql("create domain moment as timestamptz")
        books.sql("create domain local as timestamp")
        books.sql("create type progress as enum ('queued', 'started', 'completed', 'failed')")
        books.sql("alter table invoices alter column status type progress using status::progress")
    books.sql(f"alter table invoices add column attempts {attempts}")
    books.sql(f"alter table invoices add column started_at {at}")
    books.invoices(2)
    assert await books.work() == 2
    assert books.rows("status, attempts") == [("completed", 1), ("completed", 1)]


def test_the_case_of_a_name_means_nothing_in_sqlite(app_on_capitals: Penstock) -> None:
    [table] = app_on_capitals.tables.values()
    store = app_on_capitals.table_store(table)
    steps = plan(table, store.shape(), store.dialect)
    store.apply([step.sql for step in steps], together=True)
    assert '"status"' not in steps[0].sql
    store.prepare(store.shape())
    [taken] = store.claim(1)
    assert (taken.id, taken.row["ID"]) == (1, 1)
    store.close()


def test_the_claim_and_the_upkeep_go_by_their_indexes(books: Books) -> None:
    store = books.declare()
    explain = "explain query plan " if store.dialect == "sqlite" else "explain "
    books.sql("analyze")
    for verb, index in (("claim", "queued"), ("stage", "retry")):
        with store.transaction() as tx:
            if store.dialect == "postgresql":
                tx.execute("set local enable_seqscan = off")
            values = {"now": store.now(), "limit": 10, "only": None, "aside": []}
            statement = store._sql[verb].format(aside="")
            lines = str(tx.fetch(explain + statement, values).fetchall())
        assert f"invoices_penstock_{index}" in lines, lines


def test_a_table_whose_ids_are_not_unique_is_refused(books: Books) -> None:
    books.sql("create table lines (invoice integer, status text, created_at timestamp)")
    books.app.table("lines", id_column="invoice", **books.options)(receipt)
    store = books.app.table_store(books.app.tables["lines"])
    with pytest.raises(SchemaMissing, match="create unique index") as refused:
        plan(store.table, store.shape(), store.dialect)
    books.sql(str(refused.value).partition("\n")[2])
    assert plan(store.table, store.shape(), store.dialect)
    store.close()


def test_a_partitioned_table_can_have_no_such_index_and_is_taken_at_its_word(
    postgres_books: PostgresBooks,
) -> None:
    books = postgres_books
    books.sql("create table parts (id bigint, status text, created_at date) partition by list (created_at)")
    books.app.table("parts", **books.options)(receipt)
    store = books.app.table_store(books.app.tables["parts"])
    assert plan(store.table, store.shape(), store.dialect)
    store.close()


@pytest.mark.parametrize("changed", [{"order_by": "total"}, {"queued": "waiting"}, {"started": "running"}])
def test_indexes_for_other_columns_or_words_are_no_substitute(books: Books, changed: dict[str, str]) -> None:
    books.declare()
    store = books.declare(migrate=False, **changed)
    steps = books.migrate(store)
    assert steps
    assert all(step.startswith("create index") for step in steps)
    assert books.migrate(store) == []
    assert books.migrate(books.declare(migrate=False)) == []
