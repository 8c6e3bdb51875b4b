"""What can be done with a lent connection, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    import sqlite3

Dialect: TypeAlias = Literal["sqlite", "postgresql"]
Value: TypeAlias = str | bool | int | float | None
T = TypeVar("T")


class Lent(ABC):
    """A connection whose calls block: sqlite3, psycopg, SQLAlchemy's and Django's.

    What fails raises the driver's own error, or that of the framework around it.
    """

    dialect: Dialect

    def __init__(self, raw: Any) -> None:
        self.raw = raw  # what the caller gave

    @abstractmethod
    def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """The rows of one statement, with `$1`, `$2` … for the values.

        Drivers differ in how they read a value's type: on PostgreSQL give each a cast, JSON and instants by
        way of text (`$1::text::json`), and ask for text, numbers and booleans only.
        """

    def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """SQLite alone: do `work` on the connection itself, in the thread it belongs to."""
        raise NotImplementedError

    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether what is done next can still be rolled back: a transaction is open, or begins with it."""

    @abstractmethod
    def begin(self) -> None:
        """Open a transaction, where none is and none would begin by itself."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...


class AsyncLent(ABC):
    """A connection whose calls are awaited: psycopg, asyncpg, aiosqlite, SQLAlchemy's. Else like `Lent`."""

    dialect: Dialect

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    @abstractmethod
    async def fetch(self, sql: str, *values: Value) -> list[tuple[Any, ...]]: ...

    async def lend(self, work: Callable[[sqlite3.Connection], T]) -> T:
        raise NotImplementedError

    @abstractmethod
    async def in_transaction(self) -> bool: ...

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...
