"""Every kind of connection that a caller may lend, opened and used the way its own users do it."""

from __future__ import annotations

import os
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.lent import Dialect

os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # the tests' loops do nothing else meanwhile


class User(ABC):
    """Somebody with a connection: what he does between `begin` and `commit` is one transaction."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw  # what he lends
        self.nested: list[Any] = []

    async def begin(self) -> None:
        """Most begin by themselves."""
        return

    @abstractmethod
    async def execute(self, sql: str) -> None: ...

    async def commit(self) -> None:
        await done(self.raw.commit())

    async def rollback(self) -> None:
        await done(self.raw.rollback())

    async def savepoint(self) -> None:
        self.nested.append(f"s{len(self.nested)}")
        await self.execute(f"savepoint {self.nested[-1]}")

    async def back_to_savepoint(self) -> None:
        await self.execute(f"rollback to savepoint {self.nested[-1]}")
        await self.keep_savepoint()

    async def keep_savepoint(self) -> None:
        await self.execute(f"release savepoint {self.nested.pop()}")


async def done(answer: Any) -> Any:
    return await answer if hasattr(answer, "__await__") else answer


class Driver(User):
    """sqlite3, aiosqlite, psycopg: leaves it to the module to begin."""

    async def execute(self, sql: str) -> None:
        await done(self.raw.execute(sql))


class Beginner(Driver):
    """Begins by hand."""

    async def begin(self) -> None:
        await self.execute("begin")


class AsyncpgUser(User):
    async def begin(self) -> None:
        self.transaction = self.raw.transaction()
        await self.transaction.start()

    async def execute(self, sql: str) -> None:
        await self.raw.execute(sql)

    async def commit(self) -> None:
        await self.transaction.commit()

    async def rollback(self) -> None:
        await self.transaction.rollback()


class AlchemyUser(User):
    async def execute(self, sql: str) -> None:
        from sqlalchemy import text

        await done(self.raw.execute(text(sql)))

    async def savepoint(self) -> None:
        self.nested.append(await done(self.raw.begin_nested()))

    async def back_to_savepoint(self) -> None:
        await done(self.nested.pop().rollback())

    async def keep_savepoint(self) -> None:
        await done(self.nested.pop().commit())


class DjangoUser(User):
    async def begin(self) -> None:
        from django.db import transaction

        self.block = transaction.atomic(using=self.raw.alias)
        self.block.__enter__()

    async def execute(self, sql: str) -> None:
        with self.raw.cursor() as cursor:
            cursor.execute(sql)

    async def commit(self) -> None:
        self.block.__exit__(None, None, None)

    async def rollback(self) -> None:
        self.raw.set_rollback(True)
        self.block.__exit__(None, None, None)

    async def savepoint(self) -> None:
        self.nested.append(self.raw.savepoint())

    async def back_to_savepoint(self) -> None:
        self.raw.savepoint_rollback(self.nested[-1])
        await self.keep_savepoint()

    async def keep_savepoint(self) -> None:
        self.raw.savepoint_commit(self.nested.pop())


Opens: TypeAlias = Callable[[str], Any]  # an async context manager


@dataclass(frozen=True)
class Kind:
    """A kind of connection; `open(address)` takes the path or the URL of a database."""

    name: str
    dialect: Dialect
    is_async: bool
    user: type[User]
    connect: Callable[[str], Awaitable[tuple[Any, Callable[[], Any]]]]  # the connection, and how it is closed

    @asynccontextmanager
    async def open(self, address: str) -> AsyncIterator[User]:
        raw, close = await self.connect(address)
        try:
            yield self.user(raw)
        finally:
            await done(close())


async def _sqlite3(address: str) -> Any:
    connection = sqlite3.connect(address)
    return connection, connection.close


async def _sqlite3_autocommit(address: str) -> Any:
    connection = sqlite3.connect(address, isolation_level=None)
    return connection, connection.close


async def _aiosqlite(address: str) -> Any:
    import aiosqlite

    connection = await aiosqlite.connect(address)
    return connection, connection.close


async def _psycopg(address: str) -> Any:
    import psycopg

    connection = psycopg.connect(address)
    return connection, connection.close


async def _psycopg_autocommit(address: str) -> Any:
    import psycopg

    connection = psycopg.connect(address, autocommit=True)
    return connection, connection.close


async def _psycopg_async(address: str) -> Any:
    import psycopg

    connection = await psycopg.AsyncConnection.connect(address)
    return connection, connection.close


async def _asyncpg(address: str) -> Any:
    import asyncpg

    connection = await asyncpg.connect(address)
    return connection, connection.close


async def _asyncpg_pool(address: str) -> Any:
    import asyncpg

    pool = await asyncpg.create_pool(address, min_size=1, max_size=1)
    connection = await pool.acquire()

    async def close() -> None:
        await pool.release(connection)
        await pool.close()

    return connection, close


def _alchemy(driver: str, make: str) -> Callable[[str], Awaitable[Any]]:
    async def connect(address: str) -> Any:
        from sqlalchemy import create_engine
        from sqlalchemy.orm import Session, scoped_session, sessionmaker

        engine = create_engine(_alchemy_url(driver, address))
        if make == "connection":
            raw: Any = engine.connect()
        else:
            raw = Session(engine) if make == "session" else scoped_session(sessionmaker(engine))

        def close() -> None:
            raw.close()
            engine.dispose()

        return raw, close

    return connect


def _async_alchemy(driver: str, make: str) -> Callable[[str], Awaitable[Any]]:
    async def connect(address: str) -> Any:
        from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

        engine = create_async_engine(_alchemy_url(driver, address))
        raw: Any = await engine.connect() if make == "connection" else AsyncSession(engine)

        async def close() -> None:
            await raw.close()
            await engine.dispose()

        return raw, close

    return connect


def _alchemy_url(driver: str, address: str) -> str:
    if "://" not in address:
        return f"sqlite{driver}:///{address}"
    return address.replace("postgresql://", f"postgresql{driver}://")


def set_up_django() -> None:
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(DATABASES={"default": _django_database(":memory:")})
        django.setup()


async def _django(address: str) -> Any:
    set_up_django()
    from django.db import connections

    alias = f"a{secrets.token_hex(4)}"
    databases = connections.configure_settings({"default": {}, alias: _django_database(address)})
    connections.settings[alias] = databases[alias]
    connection = connections[alias]

    def close() -> None:
        connection.close()
        del connections[alias], connections.settings[alias]

    return connection, close


def _django_database(address: str) -> dict[str, Any]:
    if "://" not in address:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": address}
    import psycopg

    given = psycopg.conninfo.conninfo_to_dict(address)
    names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    return {"ENGINE": "django.db.backends.postgresql"} | {ours: given[its] for ours, its in names.items()}


SQLITE_KINDS = (
    Kind("sqlite3", "sqlite", False, Driver, _sqlite3),
    Kind("sqlite3 by hand", "sqlite", False, Beginner, _sqlite3),
    Kind("sqlite3 autocommit", "sqlite", False, Beginner, _sqlite3_autocommit),
    Kind("aiosqlite", "sqlite", True, Driver, _aiosqlite),
    Kind("sqlalchemy connection", "sqlite", False, AlchemyUser, _alchemy("", "connection")),
    Kind("sqlalchemy session", "sqlite", False, AlchemyUser, _alchemy("", "session")),
    Kind("sqlalchemy scoped session", "sqlite", False, AlchemyUser, _alchemy("", "scoped")),
    Kind(
        "sqlalchemy async connection", "sqlite", True, AlchemyUser, _async_alchemy("+aiosqlite", "connection")
    ),
    Kind("sqlalchemy async session", "sqlite", True, AlchemyUser, _async_alchemy("+aiosqlite", "session")),
    Kind("django", "sqlite", False, DjangoUser, _django),
)
POSTGRES_KINDS = (
    Kind("psycopg", "postgresql", False, Driver, _psycopg),
    Kind("psycopg async", "postgresql", True, Driver, _psycopg_async),
    Kind("psycopg autocommit", "postgresql", False, Beginner, _psycopg_autocommit),
    Kind("asyncpg", "postgresql", True, AsyncpgUser, _asyncpg),
    Kind("asyncpg pool", "postgresql", True, AsyncpgUser, _asyncpg_pool),
    *(
        Kind(f"sqlalchemy {make}", "postgresql", False, AlchemyUser, _alchemy("+psycopg", make))
        for make in ("connection", "session")
    ),
    *(
        Kind(
            f"sqlalchemy {driver} {make}", "postgresql", True, AlchemyUser, _async_alchemy(f"+{driver}", make)
        )
        for driver in ("psycopg", "asyncpg")
        for make in ("connection", "session")
    ),
    Kind("django", "postgresql", False, DjangoUser, _django),
)
KINDS = SQLITE_KINDS + POSTGRES_KINDS
