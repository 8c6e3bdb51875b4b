"""Which kind of connection it is: told by the names of its classes, so that no driver need be imported."""

from __future__ import annotations

from importlib import import_module

from penstock.lent.connection import AsyncLent, Dialect, Lent
from penstock.model.errors import InvalidOption

_SQLITE, _POSTGRES = "penstock.lent.sqlite", "penstock.lent.postgres"
_SQLALCHEMY, _DJANGO = "penstock.lent.sqlalchemy", "penstock.lent.django"
_KINDS = {
    "sqlite3.Connection": (_SQLITE, "Sqlite"),
    "aiosqlite.core.Connection": (_SQLITE, "Aiosqlite"),
    "psycopg.Connection": (_POSTGRES, "Psycopg"),
    "psycopg.AsyncConnection": (_POSTGRES, "AsyncPsycopg"),
    "asyncpg.connection.Connection": (_POSTGRES, "Asyncpg"),
    "asyncpg.pool.PoolConnectionProxy": (_POSTGRES, "Asyncpg"),
    "sqlalchemy.engine.base.Connection": (_SQLALCHEMY, "SqlAlchemy"),
    "sqlalchemy.orm.session.Session": (_SQLALCHEMY, "SqlAlchemy"),
    "sqlalchemy.orm.scoping.scoped_session": (_SQLALCHEMY, "SqlAlchemy"),
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": (_SQLALCHEMY, "AsyncSqlAlchemy"),
    "sqlalchemy.ext.asyncio.session.AsyncSession": (_SQLALCHEMY, "AsyncSqlAlchemy"),
    "sqlalchemy.ext.asyncio.scoping.async_scoped_session": (_SQLALCHEMY, "AsyncSqlAlchemy"),
    "django.utils.connection.ConnectionProxy": (_DJANGO, "Django"),
    "django.db.backends.base.base.BaseDatabaseWrapper": (_DJANGO, "Django"),
}


def lent(connection: object) -> Lent | AsyncLent:
    """The connection as we use it; InvalidOption for what is none that we know."""
    for base in type(connection).__mro__:
        if kind := _KINDS.get(f"{base.__module__}.{base.__qualname__}"):
            module, name = kind
            found: Lent | AsyncLent = getattr(import_module(module), name)(connection)
            return found
    raise InvalidOption(
        "connection= takes an open connection of sqlite3, aiosqlite, psycopg, asyncpg, SQLAlchemy "
        "(Connection, Session and their async twins) or Django (django.db.connection), "
        f"not {type(connection).__module__}.{type(connection).__qualname__}{_instead(connection)}"
    )


def _instead(connection: object) -> str:
    if type(connection).__module__.partition(".")[0] != "psycopg2":
        return ""
    return ": of psycopg2, lend SQLAlchemy's or Django's around it, or connect by psycopg 3"


def require(lent: Lent | AsyncLent, dialect: Dialect) -> None:
    """InvalidOption where the connection cannot be to the database in which the jobs live."""
    if lent.dialect != dialect:
        names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        raise InvalidOption(
            f"the jobs live in {names[dialect]}, and this connection is to {names[lent.dialect]}: a "
            "transaction cannot span both. Give the app outbox=…, the URL of your own database"
        )
