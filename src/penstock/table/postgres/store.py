"""The user's table in PostgreSQL: a few connections of our own, each transaction with its limits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from typing import Any, ClassVar

import psycopg
from psycopg import conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from penstock.engines.postgres.endings import InBlockCursor, check_open
from penstock.engines.postgres.failures import not_connected
from penstock.model.clock import Clock
from penstock.model.errors import (
    AccessRefused,
    EngineError,
    EngineUnavailable,
    InvalidOption,
    OutcomeUnknown,
)
from penstock.runtime.backoff import Backoff
from penstock.table.declared import Table
from penstock.table.postgres.reading import readable
from penstock.table.postgres.shape import read_shape
from penstock.table.shape import Shape
from penstock.table.store import Dialect, Store, Tx
from penstock.table.values import Answer, Refused, Taken

log = logging.getLogger("penstock.table")

CHANNEL = "penstock_table"
LISTEN_SLICE = 1.0  # seconds after which a listener looks whether to go on
# In one round trip with `begin`, so that a pooler need keep nothing for the session.
_BEGIN = (
    b"begin isolation level read committed; set local lock_timeout = '5s'; "
    b"set local statement_timeout = '60s'; set local idle_in_transaction_session_timeout = '60s'"
)
_DEFAULTS: dict[str, Any] = {
    "application_name": "penstock-table",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_NO_RIGHT = "42501"
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)
# Classes of errors that are about the statement, the role or the database, and about no row.
_ABOUT_ALL = ("0A", "25", "26", "28", "3D", "3F", "42", "54")
# Classes of errors that pass: connection, rollback, resources, not now, operator's doing, system.
_PASSING = ("08", "40", "53", "55", "57", "58", "25006")

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresTx:
    """One open transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Any = ()) -> Answer:
        return _answer(self.connection.execute(sql.encode(), values or None))

    def fetch(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Answer:
        with _typed():
            cursor = self.connection.execute(sql.encode(), values or None)
        try:
            return _answer(cursor)
        except Exception:  # noqa: BLE001 - whatever it is that a value cannot be read for
            return readable(cursor)

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        with _typed(), self.connection.cursor() as cursor:
            cursor.executemany(sql.encode(), rows)


class PostgresStore(Store):
    """Connections are opened when they are needed, as many as there are calls at once."""

    dialect: ClassVar[Dialect] = "postgresql"
    mark: ClassVar[str] = "%s"
    limit: ClassVar[str] = "%(limit)s"

    def __init__(self, table: Table, url: str, clock: Clock) -> None:
        super().__init__(table, clock, "penstock.table.postgres")
        self._options = _options(url)
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def transaction(self, cap: float | None = None) -> Iterator[PostgresTx]:
        connection = self._take()
        try:
            with _typed():
                connection.execute(_BEGIN)
            # The server ends a session that is idle in its transaction for too long.
            with _lent(connection) if cap is not None else nullcontext():
                yield PostgresTx(connection)
            with _typed():
                connection.execute(b"commit")
        finally:
            self._give_back(connection)

    @contextmanager
    def statement(self) -> Iterator[PostgresTx]:
        connection = self._take()
        try:
            yield PostgresTx(connection)
        finally:
            self._give_back(connection)

    def shape(self) -> Shape:
        with self.transaction() as tx:
            return read_shape(self.table, lambda sql, name: tx.fetch(sql, {"name": name}).fetchall())

    def apply(self, statements: Sequence[str], *, together: bool) -> None:
        if together:
            with self.transaction() as tx:
                for statement in statements:
                    tx.fetch(statement)
            return
        for statement in statements:
            with self.statement() as tx:
                tx.fetch(statement)

    def _completed(self, tx: Tx, rows: Sequence[Taken]) -> dict[Any, bool]:
        ids, tokens = [row.id for row in rows], [row.token for row in rows]
        return dict(self.ask(tx, "complete", ids=ids, tokens=tokens).fetchall())

    def now(self) -> datetime | None:
        return self._clock.now()

    def value(self, value: Any) -> Any:
        return Jsonb(value) if isinstance(value, dict) else value

    def close(self) -> None:
        self._closed = True
        self._drop_idle()

    @contextmanager
    def _listening(self, heard: Callable[[], None]) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(
            target=self._listen_on, args=(heard, stop), name="penstock-table-listener", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(2 * LISTEN_SLICE)

    def listen(self, heard: Callable[[], None]) -> Any:
        return self._listening(heard) if self.table.wake else None

    def _listen_on(self, heard: Callable[[], None], stop: threading.Event) -> None:
        """A hint and no more: polling goes on beside it, so an outage only makes rows wait longer."""
        backoff = Backoff(first=0.2, cap=30.0)
        while not stop.is_set():
            try:
                with self._connect() as connection:
                    connection.execute(f"listen {CHANNEL}".encode())
                    backoff.reset()
                    heard()  # what was queued before anybody listened
                    while not stop.is_set():
                        for told in connection.notifies(timeout=LISTEN_SLICE):
                            if told.payload == self.table.table:
                                heard()
            except (psycopg.Error, EngineError, InvalidOption) as error:
                log.warning("table %s: nobody tells of new rows: %s", self.table.name, _line(error))
                stop.wait(backoff.next())

    # -- connections ----------------------------------------------------------------------------------
    def _take(self) -> Connection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return self._connect()

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(**self._options, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise not_connected(error, self._address) from None

    def _give_back(self, connection: Connection) -> None:
        if connection.broken:
            self._drop_idle()  # which lead to the same server
        if connection.pgconn.transaction_status != TransactionStatus.IDLE and not connection.closed:
            with suppress(psycopg.Error):
                connection.execute(b"rollback")
        with self._lock:
            if not self._closed and connection.pgconn.transaction_status == TransactionStatus.IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @property
    def _address(self) -> str:
        """Where the database is, for people; never who connects or how."""
        host, port = self._options.get("host", "localhost"), self._options.get("port", 5432)
        return f"{host}:{port}/{self._options.get('dbname', '')}"


def typed(error: psycopg.Error) -> EngineError:
    """The error that a caller sees: whether it may pass."""
    state = error.sqlstate or ""
    if isinstance(error, psycopg.IntegrityError):
        return Refused(f"the database refused: {_line(error)}")
    if state == _NO_RIGHT:
        return AccessRefused(f"the role lacks a right on the table or its output: {_line(error)}")
    if state.startswith("08") or (not state and isinstance(error, _LOST)):
        return OutcomeUnknown(f"the connection was lost before the answer came: {_line(error)}")
    if state.startswith(_PASSING):
        return EngineUnavailable(f"the database refused: {_line(error)}")
    about_all = not state or state.startswith(_ABOUT_ALL)
    return (EngineError if about_all else Refused)(f"the database refused: {_line(error)}")


@contextmanager
def _lent(connection: Connection) -> Iterator[None]:
    """In a handler's hands: it can neither commit nor roll back."""
    connection.cursor_factory = InBlockCursor
    try:
        yield
        check_open(connection)
        if connection.pgconn.transaction_status == TransactionStatus.INERROR:
            raise EngineError("a statement in the transaction failed, and so nothing of it can be kept")
    finally:
        connection.cursor_factory = psycopg.Cursor


@contextmanager
def _typed() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise typed(error) from error


def _answer(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Answer:
    """A cursor of the client has read everything when it is there."""
    if cursor.description is None:
        return Answer((), [], cursor.rowcount)
    return Answer([c.name for c in cursor.description], cursor.fetchall(), cursor.rowcount)


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _options(url: str) -> dict[str, Any]:
    try:
        return {**_DEFAULTS, **conninfo.conninfo_to_dict(url), "client_encoding": "UTF8"}
    except psycopg.Error:
        # The parser repeats the URL in its message, and with it the password.
        raise InvalidOption(
            "the URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
