"""No name that could be anything but a name comes near SQL."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import InvalidOption, Penstock
from penstock.table.names import composed, quoted
from table.kit import Books, receipt

BAD = [
    "",
    '"; drop table invoices; --',
    "invoices; drop table invoices",
    'in"voices',
    "in'voices",
    "in`voices",
    "in[voices]",
    "public.invoices",
    "in voices",
    "invoices--",
    "invoices\x00",
    "invoices\n",
    "in\tvoices",
    "1invoices",
    "rechnungen_für",
    "ｉnvoices",
    "invoices\u202e",
    "{table}",
    "%(id)s",
    "a" * 64,
    None,
    7,
    b"invoices",
    ["invoices"],
]
OPTIONS = [
    "output",
    "source_column",
    "order_by",
    "id_column",
    "status_column",
    "started_column",
    "completed_column",
    "error_column",
    "attempts_column",
    "stuck_column",
    "retry_column",
    "token_column",
    "schema",
    "name",
]


class Shown(str):
    """Text that writes itself otherwise."""

    __slots__ = ()

    def __str__(self) -> str:
        return '"; drop table invoices; --'

    __format__ = lambda self, _: str(self)  # noqa: E731


@pytest.fixture
def app() -> Penstock:
    return Penstock("postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_a_bad_table_name_is_refused_when_it_is_declared(app: Penstock, name: Any) -> None:
    with pytest.raises(InvalidOption):
        app.table(name, output="receipts", source_column="invoice_id")(receipt)
    assert not app.tables


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", [name for name in BAD if name], ids=ascii)
def test_a_bad_name_in_any_option_is_refused_when_it_is_declared(
    app: Penstock, option: str, name: Any
) -> None:
    options = {"output": "receipts", "source_column": "invoice_id"} | {option: name}
    with pytest.raises(InvalidOption):
        app.table("invoices", **options)(receipt)
    assert not app.tables


@pytest.mark.parametrize("word", ["queued", "started", "completed", "failed"])
@pytest.mark.parametrize("name", ["", "'; drop table invoices; --", "a'b", "ä", "a" * 64, "a\x00", "{id}", 1])
def test_a_bad_word_for_a_status_is_refused(app: Penstock, word: str, name: Any) -> None:
    with pytest.raises(InvalidOption):
        app.table("invoices", **{word: name})(receipt)


async def test_nothing_is_executed_for_a_bad_name(books: Books) -> None:
    books.invoices(1)
    for bad in BAD:
        with pytest.raises(InvalidOption):
            books.declare(output=bad or "")
    assert books.statuses() == ["queued"]
    assert books.receipts() == []


def test_a_name_is_what_it_holds_and_not_what_it_writes(app: Penstock) -> None:
    app.table(Shown("invoices"), output=Shown("receipts"), source_column="invoice_id")(receipt)
    [table] = app.tables.values()
    assert (f"{table.table}", f"{table.output}") == ("invoices", "receipts")


def test_names_are_quoted_so_that_words_of_sql_and_capitals_are_names() -> None:
    assert quoted("order", "Group") == '"order"."Group"'


def test_a_composed_name_fits_and_stays_distinct() -> None:
    first, second = composed("a" * 60, "queued"), composed("a" * 60, "started")
    assert len(first) == len(second) == 63
    assert first != second


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"output": "receipts"}, "go together"),
        ({"source_column": "invoice_id"}, "go together"),
        ({"output": "invoices", "source_column": "id"}, "the table itself"),
        ({"status_column": "started_at"}, "a column of its own"),
        ({"queued": "started"}, "a word each"),
        ({"batch": 0}, "batch"),
        ({"concurrency": 2_000}, "concurrency"),
        ({"poll": 0}, "poll"),
        ({"stuck_after": 0.5}, "stuck_after"),
        ({"max_stuck": -1}, "max_stuck"),
        ({"retry": 0}, "attempts"),
        ({"url": "redis://localhost"}, "cannot be in Redis"),
        ({"url": "sqlite://:memory:"}, "in memory"),
        ({"url": "mysql://localhost/x"}, "no engine for mysql"),
        ({"url": "sqlite:///books.db", "schema": "public"}, "no schemas in SQLite"),
        ({"url": "sqlite:///books.db", "wake": True}, "shorter poll"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_declared(
    app: Penstock, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidOption, match=why):
        app.table("invoices", **options)(receipt)
    assert not app.tables


def test_an_app_on_redis_or_in_memory_asks_where_the_table_is() -> None:
    for url in ("redis://localhost", "sqlite://:memory:"):
        with pytest.raises(InvalidOption, match="give url="):
            Penstock(url).table("invoices")(receipt)
        Penstock(url).table("invoices", url="sqlite:///books.db")(receipt)


def test_a_handler_takes_a_context_and_a_row(app: Penstock) -> None:
    def one(row: Any) -> None: ...

    with pytest.raises(InvalidOption, match="two arguments"):
        app.table("invoices")(one)  # type: ignore[type-var]


def test_a_table_is_declared_once_unless_it_is_named(app: Penstock) -> None:
    app.table("invoices")(receipt)
    with pytest.raises(InvalidOption, match="name="):
        app.table("invoices")(receipt)
    app.table("invoices", name="second_step", status_column="step")(receipt)
    assert list(app.tables) == ["invoices", "second_step"]
    with pytest.raises(InvalidOption, match="there is: invoices, second_step"):
        app.table_worker(["third_step"])


def test_an_option_that_there_is_not_is_refused_by_its_name(books: Books) -> None:
    with pytest.raises(InvalidOption, match="no option 'bach'"):
        books.declare(migrate=False, bach=5)


@pytest.mark.parametrize("name", ["penstock_jobs", "sqlite_master", "SQLite_sequence", "pg_class"])
def test_tables_of_ours_and_of_the_database_are_refused_when_they_are_declared(name: str) -> None:
    app = Penstock("sqlite:///jobs.db")
    with pytest.raises(InvalidOption, match="name a table of yours"):
        app.table(name)(receipt)
    with pytest.raises(InvalidOption, match="name a table of yours"):
        app.table("invoices", output=name, source_column="invoice_id")(receipt)
