"""`penstock table`: plan, apply, status and work, as a person types them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Run, runner  # noqa: F401 - a fixture

APP = """
from penstock import Penstock

app = Penstock("sqlite:///{folder}/jobs.db")

@app.table("invoices", output="receipts", source_column="invoice_id", url="sqlite:///{folder}/books.db")
async def process(ctx, row):
    return {{"text": f"receipt of {{row.total}}"}}
"""


class Books:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "books.db"

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self._path)
        try:
            with connection:
                return connection.execute(statement).fetchall()
        finally:
            connection.close()


@pytest.fixture
def books(run: Run, tmp_path: Path) -> Iterator[Books]:
    (tmp_path / "cli_shop.py").write_text(APP.format(folder=tmp_path))
    made = Books(tmp_path)
    made.sql("create table invoices (id integer primary key, total integer, created_at text, status text)")
    made.sql("create table receipts (id integer primary key, invoice_id integer, text text)")
    made.sql("insert into invoices values (1, 10, '2026-01-01 10:00:00', 'queued')")
    made.sql("insert into invoices values (2, 20, '2026-01-01 11:00:00', 'draft')")
    return made


def test_the_plan_is_sql_that_can_be_run_as_it_is_printed(run: Run, books: Books) -> None:
    said = run("table", "plan")
    assert said.code == 0
    assert "-- invoices: lets a row have one output, whoever writes it" in said.out
    before = books.sql("select * from invoices")
    for statement in said.out.split(";"):
        books.sql(statement)
    assert len(before[0]) == 4
    assert run("table", "plan", "invoices").out == "-- invoices: nothing is missing\n"


def test_apply_makes_what_is_missing_and_says_so(run: Run, books: Books) -> None:
    assert run("table", "apply").out.startswith("invoices: 11 changes. Work on it: penstock worker")
    assert run("table", "apply", "invoices").out.startswith("invoices: nothing was missing")


def test_outputs_that_are_there_twice_are_told_with_the_query_that_finds_them(run: Run, books: Books) -> None:
    books.sql("insert into receipts (invoice_id) values (1), (1)")
    said = run("table", "apply")
    assert said.code == 1
    query = said.err.partition("find what is there twice with: ")[2].replace("\n", "")
    assert books.sql(query) == [(1, 2)]


def test_status_counts_rows_as_a_table_and_as_json(run: Run, books: Books) -> None:
    run("table", "apply")
    assert "first: 2026-01-01 10:00:00" in run("table", "status").out
    assert run("table", "status", "--json").json == [
        {
            "table": "invoices",
            "counts": {"draft": 1, "queued": 1},
            "estimated": [],
            "stuck": 0,
            "delayed": 0,
            "oldest_queued": "2026-01-01 10:00:00",
        }
    ]


def test_status_says_which_numbers_are_estimates(run: Run, books: Books) -> None:
    run("table", "apply")
    books.sql(
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000) "
        "insert into invoices (status, created_at) select 'completed', '2026-01-02' from n"
    )
    said = run("table", "status").out
    assert "about 2" in said or "about 1" in said
    assert "first: 2026-01-01 10:00:00" in said
    [found] = run("table", "status", "--json").json
    assert "completed" in found["estimated"]
    assert "queued" not in found["estimated"]
    assert found["counts"]["queued"] == 1


@pytest.mark.parametrize("words", [("status",), ("work",)])
def test_a_table_that_lacks_its_columns_is_refused_with_the_sql(
    run: Run, books: Books, words: tuple[str, ...]
) -> None:
    said = run("table", *words)
    assert said.code == 2
    assert 'alter table "invoices" add column "claim" text;' in said.err


def test_an_unknown_table_is_refused_by_name(run: Run, books: Books) -> None:
    said = run("table", "plan", "bills")
    assert (said.code, "there is: invoices" in said.err) == (2, True)


def test_an_app_without_tables_says_how_to_declare_one(run: Run) -> None:
    for verb in ("plan", "apply", "status", "work"):
        said = run("table", verb)
        assert (said.code, "@app.table" in said.err) == (2, True)


def test_a_database_that_is_not_there_is_told(run: Run, books: Books, tmp_path: Path) -> None:
    (tmp_path / "books.db").unlink()
    said = run("table", "status")
    assert said.code == 2
    assert "there is no database" in said.err
    assert not (tmp_path / "books.db").exists()
