"""A connection that is put into a handler's hands for one transaction, and can be taken away again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

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

    def hold(self) -> None:
        """A handler has it from now on, with a transaction open."""
        self._held = True

    def let_go(self) -> None:
        """The handler has it no more; TransactionTooLong where it was taken away before."""
        self._held = False
        if self._over is not None:
            raise TransactionTooLong(self._over)

    def take_away(self, why: str) -> None:
        """Undo the transaction, whatever it is doing. From another thread."""
        self._over = why
        while not self._guard.acquire(timeout=AGAIN):
            self.interrupt()
        try:
            with suppress(
                sqlite3.Error
            ):  # interrupted itself by a cursor that is read: closing undoes it too
                super().rollback()
        finally:
            self._guard.release()

    def guarded(self, statement: Callable[..., Any], *args: Any) -> Any:
        with self._guard:
            if self._over is not None:
                raise TransactionTooLong(self._over)
            try:
                return statement(*args)
            except sqlite3.OperationalError as error:
                if self._over is None:
                    raise
                raise TransactionTooLong(self._over) from error

    def cursor(self, *factory: Any) -> Any:
        """Also of every execute() of the connection itself."""
        return super().cursor(*factory or (HeldCursor if self._held else sqlite3.Cursor,))

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
