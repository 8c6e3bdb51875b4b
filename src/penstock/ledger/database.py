"""The database of a ledger: statements by name, several in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

from penstock.engine import Finding

Rows: TypeAlias = list[tuple[Any, ...]]


class Say(NamedTuple):
    """A statement and its values."""

    name: str
    values: dict[str, Any]
    where: str = "true"  # of a list: fixed words, chosen by the filter


class Database(Protocol):
    """Raises EngineUnavailable where it is away; nearly every statement may be run twice unharmed."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def migrate(self) -> list[str]: ...

    async def examine(self) -> list[Finding]: ...

    async def run(self, says: Sequence[Say], *, repeatable: bool = True) -> list[Rows]:
        """The rows of each, all in one transaction; OutcomeUnknown after a lost answer if not repeatable."""
        ...

    async def changed(self, say: Say) -> int:
        """How many rows one statement has changed."""
        ...

    async def now(self) -> datetime:
        """The time, by the database's own clock unless a test says otherwise."""
        ...
