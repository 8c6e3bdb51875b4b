"""What a handler is told about its row, and the transaction that completes it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import MutableMapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from penstock.model.errors import ActionRefused
from penstock.table.crew import Crew
from penstock.table.store import Store, Tx
from penstock.table.values import Answer, Duplicate, Taken

log = logging.getLogger("penstock.table")

CAP = 10.0  # seconds that a handler's transaction may be open on SQLite, where nobody else writes meanwhile
_KEYS = uuid.UUID("6f6b1c1e-2f0b-5c0a-9d53-0d6f4c0f2f61")  # the namespace of `key_for`


class RowLogger(logging.LoggerAdapter[logging.Logger]):
    """Records name the table, the row and the attempt."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        assert self.extra is not None
        return f"[{self.extra['table']}] {self.extra['row']} - {msg}", {**kwargs, "extra": self.extra}


class _BaseContext:
    """What both kinds of handlers can read."""

    __slots__ = ("_store", "_taken", "settled")

    def __init__(self, store: Store, taken: Taken) -> None:
        self._store = store
        self._taken = taken
        self.settled = False  # the row was completed in the handler's own transaction

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._taken.attempt

    @property
    def key(self) -> str:
        """The row's idempotency key: the same in every attempt."""
        return f"{self._store.table.name}:{self._taken.id}"

    def key_for(self, provider: str) -> str:
        """A key for one outbound effect, the same in every attempt: for an `Idempotency-Key` header."""
        return str(uuid.uuid5(_KEYS, f"{self.key}\x00{provider}"))

    @property
    def log(self) -> RowLogger:
        """A logger whose records name the table, the row and the attempt."""
        extra = {"table": self._store.table.name, "row": self._taken.id, "attempt": self.attempt}
        return RowLogger(logging.getLogger("penstock.row"), extra)

    def _begin(self) -> AbstractContextManager[Tx]:
        if self.settled:
            raise ActionRefused("the row has been completed already: one transaction per attempt")
        return self._store.settling(self._taken, CAP)


class SyncRowContext(_BaseContext):
    """The first argument of a `def` handler."""

    __slots__ = ()

    def transaction(self) -> RowTransaction:
        """A transaction in the table's database whose commit also completes the row: both or neither."""
        return RowTransaction(self)


class RowContext(_BaseContext):
    """The first argument of an `async def` handler."""

    __slots__ = ("_crew",)

    def __init__(self, store: Store, taken: Taken, crew: Crew) -> None:
        super().__init__(store, taken)
        self._crew = crew

    def transaction(self) -> AsyncRowTransaction:
        """A transaction in the table's database whose commit also completes the row: both or neither."""
        return AsyncRowTransaction(self, self._crew)


class RowTransaction:
    """`with ctx.transaction() as tx: tx.execute("insert …")`."""

    def __init__(self, context: _BaseContext) -> None:
        self._context = context
        self._open: AbstractContextManager[Tx] | None = None
        self._tx: Tx | None = None

    def __enter__(self) -> Self:
        self._open = self._context._begin()
        try:
            self._tx = self._open.__enter__()
        except Duplicate:
            self._context.settled = True
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._open is not None
        self._tx = None
        self._open.__exit__(kind, error, trace)
        self._context.settled = kind is None

    @property
    def is_open(self) -> bool:
        return self._tx is not None

    @property
    def connection(self) -> Any:
        """The driver's own: a `psycopg.Connection` or a `sqlite3.Connection`. Neither commit nor close it."""
        return self._open_tx().connection

    def execute(self, sql: str, values: Any = ()) -> Answer:
        """Run a statement, with the marks of the driver (`%s`, or `?`); all of its rows are read."""
        return self._open_tx().execute(sql, values)

    def _open_tx(self) -> Tx:
        if self._tx is None:
            raise ActionRefused("the transaction is not open: use it inside its `with` block")
        return self._tx


class AsyncRowTransaction:
    """`async with ctx.transaction() as tx: await tx.execute("insert …")`."""

    def __init__(self, context: _BaseContext, crew: Crew) -> None:
        self._inner = RowTransaction(context)
        self._crew = crew

    async def __aenter__(self) -> Self:
        try:
            await self._crew.finish(self._inner.__enter__)
        except asyncio.CancelledError as error:
            if self._inner.is_open:
                await self._crew.finish(self._inner.__exit__, type(error), error, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._crew.finish(self._inner.__exit__, kind, error, trace)

    @property
    def connection(self) -> Any:
        """The driver's own, which blocks: a `psycopg.Connection` or a `sqlite3.Connection`."""
        return self._inner.connection

    async def execute(self, sql: str, values: Any = ()) -> Answer:
        """Run a statement, with the marks of the driver (`%s`, or `?`); all of its rows are read."""
        return await self._crew.finish(self._inner.execute, sql, values)
