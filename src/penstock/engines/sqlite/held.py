"""A connection that is put into a handler's hands for one transaction, and can be taken away again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn
from weakref import WeakSet

from penstock.engines.blocks import ends_here, is_over
from penstock.engines.sqlite.failures import code_of
from penstock.model.errors import TransactionTooLong

SHOWN = 40  # characters of a statement that is refused
AGAIN = 0.05  # seconds after which a statement that goes on is interrupted once more


class HeldCursor(sqlite3.Cursor):
    """A cursor of a connection that may be taken away."""

    connection: HeldConnection

    def execute(self, *args: Any) -> Any:
        return self.connection.guarded(self, super().execute, *args)

    def executemany(self, *args: Any) -> Any:
        return self.connection.guarded(self, super().executemany, *args)

    def executescript(self, *_: Any) -> NoReturn:
        raise ends_here("executescript() commits first")


class HeldConnection(sqlite3.Connection):
    """While it is held, only the end of the block ends its transaction, and no statement comes after that.

    What a handler wrote then would stay, though its job is not completed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard = threading.RLock()  # one statement, or the taking away, at a time
        self._held = False
        self._over: str | None = None  # why it was taken away
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()  # of the handler

    def hold(self) -> None:
        """A handler has it from now on, with a transaction open."""
        self._held = True
        self.set_authorizer(_leave_transactions)

    def let_go(self) -> None:
        """The handler has it no more; TransactionTooLong where it was taken away before."""
        self._held = False
        self.set_authorizer(None)
        self._check()

    def _check(self) -> None:
        if self._over is not None:
            raise TransactionTooLong(self._over)

    def check_open(self) -> None:
        """InvalidOption where the transaction is over: some errors undo all of it."""
        self._check()
        if not self.in_transaction:
            raise is_over()

    def take_away(self, why: str) -> None:
        """Undo the transaction, whatever it is doing. From another thread."""
        self._over = why
        while not self._guard.acquire(timeout=AGAIN):
            self.interrupt()
        try:
            with suppress(sqlite3.Error):
                self.set_authorizer(None)
                for cursor in list(self._cursors):
                    cursor.close()  # while one is being read, what interrupted it would stop a rollback, too
                super().rollback()
        finally:
            self._guard.release()

    def guarded(self, cursor: sqlite3.Cursor, statement: Callable[..., Any], *args: Any) -> Any:
        with self._guard:
            self._check()
            if self._held:
                self.check_open()
            try:
                return statement(*args)
            except sqlite3.DatabaseError as error:
                if code_of(error) == sqlite3.SQLITE_AUTH:
                    cursor.close()  # it has the statement, and is itself had by whoever keeps the error
                    raise ends_here(str(args[0]).strip()[:SHOWN]) from None
                if self._over is not None and isinstance(error, sqlite3.OperationalError):
                    raise TransactionTooLong(self._over) from error
                raise

    def cursor(self, *factory: Any) -> Any:
        self._check()
        if not self._held:
            return super().cursor(*factory)
        cursor = super().cursor(*factory or (HeldCursor,))
        self._cursors.add(cursor)
        return cursor

    def execute(self, *args: Any) -> Any:
        return self.cursor().execute(*args)

    def executemany(self, *args: Any) -> Any:
        return self.cursor().executemany(*args)

    def executescript(self, *args: Any) -> Any:
        return self.cursor().executescript(*args)

    def commit(self) -> None:
        if self._held:
            raise ends_here("commit()")
        super().commit()

    def rollback(self) -> None:
        if self._held:
            raise ends_here("rollback()")
        super().rollback()

    def __enter__(self) -> Any:
        if self._held:
            raise ends_here("`with connection:` commits at its end")
        return super().__enter__()


def _leave_transactions(action: int, *_: Any) -> int:
    """Asked by SQLite about each statement; savepoints are another action."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK
