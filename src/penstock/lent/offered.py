"""What a type checker takes for a connection that can be lent: enough to tell sync from async ones."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol


class SyncConnection(Protocol):
    """sqlite3, psycopg, SQLAlchemy's Connection and Session, Django's connection."""

    def commit(self) -> None: ...


class AsyncConnection(Protocol):
    """psycopg's AsyncConnection, asyncpg, aiosqlite, SQLAlchemy's AsyncConnection and AsyncSession."""

    def execute(self, *args: Any, **kwargs: Any) -> Awaitable[Any]: ...
