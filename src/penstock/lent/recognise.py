"""Which kind of connection it is: told by the names of its classes, so that no driver need be imported."""

from __future__ import annotations

from penstock.lent.connection import AsyncLent, Dialect, Lent
from penstock.lent.django import Django
from penstock.lent.postgres import Asyncpg, AsyncPsycopg, Psycopg
from penstock.lent.sqlalchemy import AsyncSqlAlchemy, SqlAlchemy
from penstock.lent.sqlite import Aiosqlite, Sqlite
from penstock.model.errors import InvalidOption

_KINDS: dict[str, type[Lent | AsyncLent]] = {
    "sqlite3.Connection": Sqlite,
    "aiosqlite.core.Connection": Aiosqlite,
    "psycopg.Connection": Psycopg,
    "psycopg.AsyncConnection": AsyncPsycopg,
    "asyncpg.connection.Connection": Asyncpg,
    "asyncpg.pool.PoolConnectionProxy": Asyncpg,
    "sqlalchemy.engine.base.Connection": SqlAlchemy,
    "sqlalchemy.orm.session.Session": SqlAlchemy,
    "sqlalchemy.orm.scoping.scoped_session": SqlAlchemy,
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": AsyncSqlAlchemy,
    "sqlalchemy.ext.asyncio.session.AsyncSession": AsyncSqlAlchemy,
    "sqlalchemy.ext.asyncio.scoping.async_scoped_session": AsyncSqlAlchemy,
    "django.utils.connection.ConnectionProxy": Django,
    "django.db.backends.base.base.BaseDatabaseWrapper": Django,
}


def lent(connection: object) -> Lent | AsyncLent:
    """The connection as we use it; InvalidOption for what is none that we know."""
    for base in type(connection).__mro__:
        if kind := _KINDS.get(f"{base.__module__}.{base.__qualname__}"):
            return kind(connection)
    raise InvalidOption(
        "connection= takes an open connection of sqlite3, aiosqlite, psycopg, asyncpg, SQLAlchemy "
        "(Connection, Session and their async twins) or Django (django.db.connection), "
        f"not {type(connection).__module__}.{type(connection).__qualname__}"
    )


def require(lent: Lent | AsyncLent, dialect: Dialect) -> None:
    """InvalidOption where the connection cannot be to the database in which the jobs live."""
    if lent.dialect != dialect:
        names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        raise InvalidOption(
            f"the jobs live in {names[dialect]}, and this connection is to {names[lent.dialect]}: a "
            "transaction cannot span both. Give the app outbox=…, the URL of your own database"
        )
