"""The user's books: invoices that wait, receipts that are made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from penstock import Penstock
from penstock.model.clock import FakeClock
from penstock.model.errors import EngineError
from penstock.table.migration import plan
from penstock.table.store import Store
from penstock.table.values import Ended

Handler = Callable[..., Any]


async def receipt(ctx: Any, row: Any) -> dict[str, Any]:
    return {"text": f"receipt of {row.total}"}


def complete(store: Store, taken: Any, output: Any) -> Ended:
    """One row; what is refused is raised."""
    [ended] = store.complete([store.ready(taken, output)])
    if isinstance(ended, EngineError):
        raise ended
    return ended


class Books:
    """One database with the user's two tables, and an app that works on them."""

    url: str
    options: dict[str, Any]
    mark: str

    def __init__(self, engine: str, clock: FakeClock) -> None:
        self.clock = clock
        self.app = Penstock(engine, clock=clock)
        self._stores: list[Store] = []

    @property
    def output(self) -> str:
        """The output as a handler must name it."""
        schema = self.options.get("schema")
        return f"{schema}.receipts" if schema else "receipts"

    # -- the user's side ------------------------------------------------------------------------------
    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def create(self) -> None:
        raise NotImplementedError

    def invoices(self, n: int, status: str = "queued") -> None:
        marks = ", ".join([self.mark] * 4)
        for number in range(1, n + 1):
            self.sql(
                f"insert into invoices (id, total, created_at, status) values ({marks})",
                number,
                number * 10,
                f"2026-01-01 00:00:{number % 60:02}",
                status,
            )

    def rows(self, columns: str = "id, status") -> list[tuple[Any, ...]]:
        return self.sql(f"select {columns} from invoices order by id")

    def statuses(self) -> list[str]:
        return [status for (status,) in self.rows("status")]

    def receipts(self) -> list[tuple[Any, ...]]:
        return self.sql("select invoice_id, text from receipts order by 1, 2")

    # -- our side -------------------------------------------------------------------------------------
    def declare(self, handler: Handler = receipt, *, migrate: bool = True, **options: Any) -> Store:
        """Declare the table and make what it needs; its store."""
        given = {"output": "receipts", "source_column": "invoice_id"} | self.options | options
        self.app._tables.clear()
        self.app.table("invoices", **given)(handler)
        store = self.app.table_store(self.app.tables[given.get("name", "invoices")])
        self._stores.append(store)
        if migrate:
            self.migrate(store)
            store.prepare(store.shape())
        return store

    def migrate(self, store: Store, **how: Any) -> list[str]:
        steps = [step.sql for step in plan(store.table, store.shape(), store.dialect, **how)]
        store.apply(steps, together=not how.get("concurrently", False))
        return steps

    async def work(self, handler: Handler = receipt, **options: Any) -> int:
        """Declare, migrate, and work until no row can be claimed."""
        self.declare(handler, **options)
        return await self.app.table_worker().run(burst=True)

    def close(self) -> None:
        for store in self._stores:
            store.close()


class SqliteBooks(Books):
    mark = "?"

    def __init__(self, path: Path, engine: str, clock: FakeClock) -> None:
        super().__init__(engine, clock)
        self.path = path
        self.url = f"sqlite:///{path}"
        self.options = {"url": self.url}

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        try:
            with connection:
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def create(self) -> None:
        self.sql(
            "create table invoices (id integer primary key, total integer, created_at text, status text)"
        )
        self.sql("create table receipts (id integer primary key, invoice_id integer, text text)")


class PostgresBooks(Books):
    mark = "%s"

    def __init__(self, url: str, schema: str, engine: str, clock: FakeClock) -> None:
        super().__init__(engine, clock)
        self.url = url
        self.schema = schema
        self.options = {"url": url, "schema": schema}
        self._connection = psycopg.connect(url, autocommit=True)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        found = self._connection.execute(statement.encode(), values or None)
        return found.fetchall() if found.description else []

    def create(self) -> None:
        self.sql(f"create schema {self.schema}")
        self.sql(f"set search_path = {self.schema}")
        self.sql(
            "create table invoices "
            "(id bigint primary key, total integer, created_at timestamptz, status text)"
        )
        self.sql("create table receipts (id bigserial primary key, invoice_id bigint, text text)")

    def close(self) -> None:
        super().close()
        self.sql(f"drop schema {self.schema} cascade")
        self._connection.close()
