"""A connection that is put into a handler's hands for one transaction, and can be taken away again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn
from weakref import WeakSet

from penstock.model.errors import InvalidOption, TransactionTooLong

AGAIN = 0.05  # seconds after which a statement that goes on is interrupted once more


class HeldCursor(sqlite3.Cursor):
    """A cursor of a connection that may be taken away."""

    connection: HeldConnection

    def execute(self, *args: Any) -> Any:
        return self.connection.guarded(super().execute, *args)

    def executemany(self, *args: Any) -> Any:
        return self.connection.guarded(super().executemany, *args)

    def executescript(self, *_: Any) -> NoReturn:
        _refuse_to_commit("executescript() commits first")


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

    def let_go(self) -> None:
        """The handler has it no more; TransactionTooLong where it was taken away before."""
        self._held = False
        self._check()

    def _check(self) -> None:
        if self._over is not None:
            raise TransactionTooLong(self._over)

    def check_open(self) -> None:
        """InvalidOption where a statement of the handler has ended the transaction."""
        self._check()
        if not self.in_transaction:
            raise InvalidOption("the transaction was ended inside ctx.transaction(), before its end")

    def take_away(self, why: str) -> None:
        """Undo the transaction, whatever it is doing. From another thread."""
        self._over = why
        while not self._guard.acquire(timeout=AGAIN):
            self.interrupt()
        try:
            with suppress(sqlite3.Error):
                for cursor in list(self._cursors):
                    cursor.close()  # while one is being read, what interrupted it would stop a rollback, too
                super().rollback()
        finally:
            self._guard.release()

    def guarded(self, statement: Callable[..., Any], *args: Any) -> Any:
        with self._guard:
            self._check()
            try:
                return statement(*args)
            except sqlite3.OperationalError as error:
                if self._over is None:
                    raise
                raise TransactionTooLong(self._over) from error

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
            _refuse_to_commit("commit()")
        super().commit()

    def rollback(self) -> None:
        if self._held:
            _refuse_to_commit("rollback()")
        super().rollback()

    def __enter__(self) -> Any:
        if self._held:
            _refuse_to_commit("`with connection:` commits at its end")
        return super().__enter__()


def _refuse_to_commit(what: str) -> NoReturn:
    raise InvalidOption(
        f"{what}: inside ctx.transaction() the work is committed together with the job, when the block ends; "
        "to undo it, leave the block by an exception"
    )
