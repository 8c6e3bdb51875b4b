"""The app of the outbox's chaos run: each job charges an order, once, in the user's own database."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any

import psycopg

from penstock import Penstock, Retry, SyncContext

OUTBOX = "PENSTOCK_OUTBOX"

app = Penstock()
app.queue(
    "default", retry=Retry.immediate(3), keep_completed=None, keep_failed=None, keep_for=None, timeout=None
)
_own = threading.local()

TABLES = (
    "create table orders (n integer primary key, job_id text not null, key text not null)",
    "create table charges (n integer not null, key text not null)",
    "create table runs (n integer not null, job_id text not null)",
)


def connect() -> Any:
    """A connection to the user's database, as his own code has it."""
    url = os.environ[OUTBOX]
    if url.startswith("sqlite:///"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)
    return psycopg.connect(url)


def execute(connection: Any, sql: str, *values: Any) -> Any:
    """With `?` for the values."""
    if not isinstance(connection, sqlite3.Connection):
        sql = sql.replace("?", "%s")
    return connection.execute(sql, values)


def insert(connection: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    """All rows in one statement."""
    sql = f"insert into {table} values " + ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
    execute(connection, sql, *(value for row in rows for value in row))


@app.task
def charge(ctx: SyncContext, n: int) -> None:
    """Charge the order, unless that has been done: the record of it is in the same transaction."""
    connection = getattr(_own, "connection", None)
    if connection is None:
        connection = _own.connection = connect()
    execute(connection, "insert into runs (n, job_id) values (?, ?)", n, ctx.job.id)
    if ctx.once("charge", connection=connection):
        execute(connection, "insert into charges (n, key) values (?, ?)", n, ctx.key)
    connection.commit()
