"""Opens the store of a table: the only place that knows both databases."""

from __future__ import annotations

from penstock.model.clock import Clock
from penstock.model.errors import MissingExtra
from penstock.table.declared import Table
from penstock.table.store import Store
from penstock.tasks.urls import is_sqlite


def open_store(table: Table, engine_url: str, clock: Clock) -> Store:
    """A store for the table, which connects when it is first used."""
    url = table.at(engine_url)
    if is_sqlite(url):
        from penstock.table.sqlite.store import SqliteStore  # noqa: PLC0415 - only what is in use

        return SqliteStore(table, url, clock)
    try:
        from penstock.table.postgres.store import PostgresStore  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise MissingExtra("PostgreSQL needs its driver: pip install 'penstock[postgres]'") from error
    return PostgresStore(table, url, clock)
