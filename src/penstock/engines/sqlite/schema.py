"""Numbered migrations, applied once each, whoever comes first."""

from __future__ import annotations

import sqlite3

from penstock.engines.sqlite.connection import patiently
from penstock.engines.sqlite.statements import SQL
from penstock.engines.statements import load
from penstock.model.errors import SchemaMissing, SchemaTooNew

MIGRATIONS = load("penstock.engines.sqlite", "migrations")


def migrate(connection: sqlite3.Connection, database: str, now: int) -> list[str]:
    """Apply what is missing, in one transaction; the names applied. Only under the lock."""
    patiently(connection, "begin immediate")
    try:
        connection.execute(SQL["migrations_create"])
        done = {row["name"] for row in connection.execute(SQL["migrations_all"])}
        _refuse_newer(done, database)
        missing = [name for name in MIGRATIONS if name not in done]
        for name in missing:
            for statement in statements_of(MIGRATIONS[name]):
                connection.execute(statement)
            connection.execute(SQL["migrations_add"], (int(name[:4]), name, now))
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    return missing


def ensure(connection: sqlite3.Connection, database: str, now: int) -> None:
    """Check that the schema is ours. An empty file gets it at once: embedding needs no extra step."""
    tables = {row[0] for row in connection.execute(SQL["tables_all"])}
    if not tables:
        migrate(connection, database, now)
        return
    check(connection, database)


def check(connection: sqlite3.Connection, database: str) -> None:
    """Raise where this release and the file do not fit."""
    tables = {row[0] for row in connection.execute(SQL["tables_all"])}
    if "penstock_migrations" not in tables:
        raise SchemaMissing(f"{database} has no Penstock tables; run `penstock migrate`")
    done = {row["name"] for row in connection.execute(SQL["migrations_all"])}
    _refuse_newer(done, database)
    if missing := [name for name in MIGRATIONS if name not in done]:
        raise SchemaMissing(f"{database} lacks {', '.join(missing)}; run `penstock migrate`")


def _refuse_newer(done: set[str], database: str) -> None:
    if unknown := sorted(done - MIGRATIONS.keys()):
        raise SchemaTooNew(
            f"{database} was migrated by a newer release ({', '.join(unknown)}); update Penstock here"
        )


def statements_of(script: str) -> list[str]:
    """The statements of a migration."""
    found, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
