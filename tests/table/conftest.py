"""A user's database of its own for each test, on SQLite and on PostgreSQL."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from conftest import no_leaks
from penstock import Penstock
from penstock.model.clock import FakeClock
from table.kit import Books, PostgresBooks, SqliteBooks, receipt

B = TypeVar("B", bound=Books)

Found = SqliteBooks | PostgresBooks


@pytest.fixture(params=["sqlite", "postgres"])
def books(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Found]:
    """Invoices and receipts as a user has them: nothing of ours in them yet."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_books")
        return
    yield from opened(SqliteBooks(tmp_path / "books.db", engine_of(tmp_path), clock))


@pytest.fixture
def postgres_books(postgres_url: str, tmp_path: Path, clock: FakeClock) -> Iterator[PostgresBooks]:
    yield from opened(PostgresBooks(postgres_url, f"t_{secrets.token_hex(6)}", engine_of(tmp_path), clock))


def engine_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'jobs.db'}"


def opened(made: B) -> Iterator[B]:
    with no_leaks():
        made.create()
        yield made
        made.close()


@pytest.fixture
def app_on_capitals(tmp_path: Path) -> Penstock:
    """A table whose columns are written in capitals, declared without."""
    path = tmp_path / "capitals.db"
    connection = sqlite3.connect(path)
    connection.execute("create table INVOICES (ID integer primary key, CREATED_AT text, STATUS text)")
    connection.execute("insert into INVOICES values (1, '2026-01-01', 'queued')")
    connection.commit()
    connection.close()
    app = Penstock(f"sqlite:///{path}")
    app.table("invoices")(receipt)
    return app
