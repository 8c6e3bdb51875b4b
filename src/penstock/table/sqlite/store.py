"""The user's table in an SQLite file: one connection, and the same turn to write as the engine's."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from penstock.engines.sqlite.connection import connect, patiently
from penstock.engines.sqlite.failures import spoils_connection, typed
from penstock.engines.sqlite.files import Files
from penstock.engines.sqlite.forks import Desk
from penstock.engines.sqlite.held import HeldConnection
from penstock.engines.sqlite.lock import FairLock
from penstock.model.clock import Clock
from penstock.model.errors import EngineError
from penstock.table.declared import Table
from penstock.table.shape import Shape
from penstock.table.sqlite.shape import read_shape
from penstock.table.store import Dialect, Store, Tx
from penstock.table.values import Answer, Refused, Taken, Unreadable
from penstock.tasks.urls import sqlite_path


class SqliteTx:
    """One open transaction, the only one that writes to the file."""

    def __init__(self, connection: HeldConnection, database: str) -> None:
        self.connection = connection
        self.over: str | None = None  # why, where it has ended before its block
        self.done = False  # its block has ended
        self.guard = threading.Lock()  # between the block and who ends it for taking too long
        self._database = database

    def execute(self, sql: str, values: Any = ()) -> Answer:
        with self.guard:
            self.check()
            return _answer(self.connection.execute(sql, values))

    def fetch(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Answer:
        try:
            return self.execute(sql, values)
        except sqlite3.IntegrityError as error:
            raise Refused(f"{self._database}: {error}") from error
        except sqlite3.Error as error:
            raise typed(error, self._database) from error

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            self.fetch(sql, row)

    def check(self) -> None:
        if self.over is not None:
            raise EngineError(self.over)


class SqliteStore(Store):
    """One connection for all threads: SQLite has one writer anyway."""

    dialect: ClassVar[Dialect] = "sqlite"
    mark: ClassVar[str] = "?"
    limit: ClassVar[str] = ":limit"

    def __init__(self, table: Table, url: str, clock: Clock) -> None:
        super().__init__(table, clock, "penstock.table.sqlite")
        self._place = Files.at(sqlite_path(url))
        self._desk = Desk(self._place, self._disconnect)
        self._turn: FairLock | None = None
        self._connection: HeldConnection | None = None

    @contextmanager
    def transaction(self, cap: float | None = None) -> Iterator[SqliteTx]:
        """Taken in turn with the engine and with all other instances: a busy timeout alone starves some."""
        with ExitStack() as held:
            held.enter_context(self._desk)
            held.enter_context(self._opened_turn())
            connection = self._connected()
            tx = SqliteTx(connection, self._place.database)
            with self._typed():
                patiently(connection, "begin immediate")
            try:
                with self._lent(tx, cap, held):
                    yield tx
                with self._typed():
                    connection.execute("commit")
            except BaseException as error:
                if tx.over is None:
                    self._abandon(connection, error)
                raise

    def statement(self) -> AbstractContextManager[SqliteTx]:
        return self.transaction()

    def shape(self) -> Shape:
        with self.transaction() as tx:
            return read_shape(self.table, lambda sql, *values: tx.fetch(sql, values).fetchall())

    def apply(self, statements: Sequence[str], *, together: bool) -> None:
        del together  # nothing in SQLite must be done apart
        with self.transaction() as tx:
            for statement in statements:
                tx.fetch(statement)

    def ask(self, tx: Tx, verb: str, **values: Any) -> Answer:
        """SQLite knows no arrays: as many marks as there are values."""
        if "aside" not in values:
            return super().ask(tx, verb, **values)
        marks = {f"aside{n}": row_id for n, row_id in enumerate(values.pop("aside"))}
        answer = tx.fetch(self._sql[verb].format(aside=_marks(marks)), {"now": self.now(), **values, **marks})
        return self._taken(tx, answer) if verb == "claim" else answer

    def _taken(self, tx: Tx, claimed: Answer) -> Answer:
        ids = {f"id{n}": row_id for n, (row_id,) in enumerate(claimed) if not isinstance(row_id, Unreadable)}
        return tx.fetch(self._sql["taken"].format(ids=_marks(ids)), ids) if ids else Answer((), [], 0)

    def _completed(self, tx: Tx, rows: Sequence[Taken]) -> dict[Any, bool]:
        answers = [self.ask(tx, "complete", id=row.id, token=row.token).fetchone() for row in rows]
        return {answer[0]: bool(answer[1]) for answer in answers if answer}

    def now(self) -> str | None:
        """As SQLite's own functions write it."""
        at = self._clock.now()
        return None if at is None else f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1_000:03}"

    def value(self, value: Any) -> Any:
        match value:
            case dict() | list():
                return json.dumps(value, ensure_ascii=False)
            case datetime():
                return value.isoformat(" ")
            case date() | Decimal() | UUID():
                return str(value)
            case _:
                return value

    def close(self) -> None:
        with self._desk:
            self._disconnect()
            if self._turn is not None:
                self._turn.close()
                self._turn = None

    # -- the connection -------------------------------------------------------------------------------
    def _connected(self) -> HeldConnection:
        if self._connection is None:
            if not Path(self._place.database).is_file():
                raise EngineError(f"there is no database {self._place.database}, and so no table in it")
            with self._typed():
                made = connect(self._place.database, HeldConnection)
                assert isinstance(made, HeldConnection)
                made.row_factory = None
                made.text_factory = _text
                self._connection = made
        return self._connection

    def _opened_turn(self) -> FairLock:
        if self._turn is None:
            with self._typed():
                self._turn = FairLock(self._place.lock, self._place.turn)
        return self._turn

    @contextmanager
    def _lent(self, tx: SqliteTx, cap: float | None, held: ExitStack) -> Iterator[None]:
        """In a handler's hands for `cap` seconds at most; it can neither commit nor roll back."""
        if cap is None:
            yield
            return
        tx.connection.hold()
        tx.connection.text_factory = str
        try:
            with self._capped(tx, cap, held):
                yield
        finally:
            with suppress(sqlite3.Error):  # it may be gone
                tx.connection.let_go()
                tx.connection.text_factory = _text

    @contextmanager
    def _capped(self, tx: SqliteTx, seconds: float, held: ExitStack) -> Iterator[None]:
        """A handler that keeps the transaction open would keep everybody else from writing."""
        timer = threading.Timer(seconds, self._cut, (tx, seconds, held))
        timer.daemon = True
        timer.start()
        try:
            yield
            with tx.guard:
                tx.check()
                tx.connection.check_open()
        finally:
            with tx.guard:
                tx.done = True
            timer.cancel()

    def _cut(self, tx: SqliteTx, seconds: float, held: ExitStack) -> None:
        with tx.guard:
            if tx.done:
                return
            tx.over = (
                f"the transaction was open for {seconds:g} s, in which nobody else could write; it was "
                "rolled back: do the work before it, and only write in it"
            )
            self._disconnect()  # what is not committed is gone with it, and nobody can write by it any more
            held.close()

    def _abandon(self, connection: sqlite3.Connection, error: BaseException) -> None:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("rollback")
        cause = error.__cause__ if isinstance(error, EngineError) else error
        if isinstance(cause, Exception) and spoils_connection(cause):
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise typed(error, self._place.database) from error
        except OSError as error:
            raise EngineError(f"{self._place.database}: {error}") from error


def _marks(values: Mapping[str, Any]) -> str:
    return ", ".join(f":{name}" for name in values)


def _text(value: bytes) -> str | Unreadable:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Unreadable("the text is not UTF-8")


def _answer(cursor: sqlite3.Cursor) -> Answer:
    rows = cursor.fetchall()
    return Answer([c[0] for c in cursor.description or ()], rows, cursor.rowcount)
