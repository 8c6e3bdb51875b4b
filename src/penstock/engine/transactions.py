"""What an engine does inside a transaction that is not its own, and transactions in its database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from penstock.engine.effects import Effect
from penstock.engine.running import Settlement
from penstock.lent import AsyncLent, Dialect, Lent
from penstock.model.job import Enqueued, NewJob


class OnLent(Protocol):
    """What an engine can do on a connection of the caller's: see "Lent connections" above."""

    dialect: Dialect

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        """Put jobs in, as `Engine.enqueue` does.

        `again` must be said where an id may be known: a transaction may not survive to be told so. A
        connection to another database than the engine's is InvalidOption, where that can be seen.
        """
        ...

    async def aenqueue(
        self, lent: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False
    ) -> Sequence[Enqueued]:
        """`enqueue` on a connection whose calls are awaited."""
        ...

    def settle(self, lent: Lent, end: Settlement) -> bool:
        """Complete a run, and put in what follows; False, and nothing changes, where it has passed on."""
        ...

    async def asettle(self, lent: AsyncLent, end: Settlement) -> bool:
        """`settle` on a connection whose calls are awaited."""
        ...

    def once(self, lent: Lent, effect: Effect) -> bool:
        """Record an effect; whether it is the first of its name for this task and key.

        Where another transaction has recorded it and is still open, this waits for its end.
        """
        ...

    async def aonce(self, lent: AsyncLent, effect: Effect) -> bool:
        """`once` on a connection whose calls are awaited."""
        ...


class Transaction(Protocol):
    """A transaction on a connection of our own to the engine's database; what ends it gives that up."""

    @property
    def lent(self) -> Lent:
        """The connection, for the verbs on lent ones."""
        ...

    def execute(self, sql: str, values: Any) -> Any:
        """Run a statement of the user's; the driver's cursor."""

    def commit(self) -> None:
        """OutcomeUnknown where nobody knows whether it was."""

    def rollback(self) -> None:
        """Undo it all; fails for no reason that matters."""


class AsyncTransaction(Protocol):
    """The same, awaited."""

    @property
    def lent(self) -> AsyncLent: ...

    async def execute(self, sql: str, values: Any) -> Any: ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


class Transactions(Protocol):
    """Transactions in the engine's database for those who have no connection to lend.

    One may last as long as others can wait: on SQLite, where it keeps every other writer out, less than a
    third of `lease` seconds in all, TransactionTooLong; on PostgreSQL `lease` seconds without a statement,
    after which the server ends it. Connections are opened when needed and kept for the next one.
    """

    @property
    def on_lent(self) -> OnLent:
        """The verbs on such a connection."""
        ...

    def begin(self, lease: float) -> Transaction: ...

    async def abegin(self, lease: float) -> AsyncTransaction: ...

    def close(self) -> None:
        """Let go of every connection that is not in use."""
