"""Makes the store of a URL; only the driver that is in use is loaded."""

from __future__ import annotations

from penstock.model.clock import Clock
from penstock.outbox.store import Store, dialect_of
from penstock.tasks.urls import sqlite_path


def make_store(url: str, clock: Clock, destination: str) -> Store:
    """The store, not opened yet; InvalidOption where no outbox can be there."""
    if dialect_of(url) == "sqlite":
        from penstock.outbox.sqlite import SqliteStore  # noqa: PLC0415 - only the driver in use

        return SqliteStore(sqlite_path(url), clock, destination)
    import penstock.engines.postgres  # noqa: F401, PLC0415 - says what to install where the driver is missing
    from penstock.outbox.postgres import PostgresStore  # noqa: PLC0415 - as above

    return PostgresStore(url, clock, destination)
