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
    "create table orders (n integer primary key, job_id text not null, key text not null, order_key text)",
    "create table charged (key text primary key)",
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


@app.task
def charge(ctx: SyncContext, n: int) -> None:
    """Charge the order, unless the key of this job says that it has been."""
    connection = getattr(_own, "connection", None)
    if connection is None:
        connection = _own.connection = connect()
    key = ctx.job.key
    execute(connection, "insert into runs (n, job_id) values (?, ?)", n, ctx.job.id)
    first = execute(connection, "insert into charged (key) values (?) on conflict do nothing", key)
    if first.rowcount == 1:
        execute(connection, "insert into charges (n, key) values (?, ?)", n, key)
    connection.commit()
