"""One prepared statement in one round trip, on libpq itself: the driver's general way costs far more CPU.

Only for sessions that are ours: a prepared statement lives and dies with its session. Values go as text, and
their types are the server's to find.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

Rows: TypeAlias = list[tuple[Any, ...]]

LOOK_AGAIN = 0.5  # seconds between looks at a line on which nothing was heard

_PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")


class Session(psycopg.AsyncConnection[Any]):
    """A connection that knows which statements it has prepared, and under which names."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared: dict[str, bytes] = {}
        self.reader = Transformer(self)


class Statement(NamedTuple):
    """What the server is given, and the names of its values in order."""

    text: bytes
    names: tuple[str, ...]


async def query(session: Session, sql: str, values: dict[str, Any]) -> Rows:
    """The rows of one statement, in a transaction of its own."""
    statement = _statement(sql)
    parameters = [_encoded(values[name]) for name in statement.names]
    name = session.prepared.get(sql) or await _prepare(session, sql, statement.text)
    session.pgconn.send_query_prepared(name, parameters, result_format=Format.BINARY)
    return _rows(session, await _answer(session))


async def _prepare(session: Session, sql: str, text: bytes) -> bytes:
    name = b"penstock_%d" % len(session.prepared)
    session.pgconn.send_prepare(name, text)
    await _answer(session)
    session.prepared[sql] = name
    return name


@lru_cache
def _statement(sql: str) -> Statement:
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(sql)))
    text = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    return Statement(text.replace("%%", "%").encode(), names)


def _encoded(value: Any) -> bytes | None:
    if value is None:
        return None
    raw = _TEXTS[type(value)](value).encode()
    if b"\0" in raw:  # where libpq would take the value to end
        raise psycopg.DataError("PostgreSQL text cannot hold NUL bytes")
    return raw


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _list(values: list[Any]) -> str:
    if values and type(values[0]) is float:
        return "{" + ",".join(map(repr, values)) + "}"
    return "{" + ",".join(["NULL" if value is None else _quoted(str(value)) for value in values]) + "}"


_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    int: str,
    bool: str,
    float: repr,
    datetime: datetime.isoformat,
    list: _list,
}


async def _answer(session: Session) -> PGresult:
    """Send what is left to send, and read until the server says that the transaction is over."""
    results = await _Exchange(session).results()
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
    return results[0]


class _Exchange:
    """One wait for an answer."""

    def __init__(self, session: Session) -> None:
        self._line = session.pgconn
        self._socket = self._line.socket
        self._loop = asyncio.get_running_loop()
        self._over = self._loop.create_future()
        self._results: list[PGresult] = []

    async def results(self) -> list[PGresult]:
        if self._line.flush():
            self._loop.add_writer(self._socket, self._step)
        self._loop.add_reader(self._socket, self._step)
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(LOOK_AGAIN, self._look)
        try:
            await self._over
        finally:
            self._leave()
        return self._results

    def _step(self) -> None:
        if self._timer is None:
            return
        try:
            if not self._line.flush():
                self._loop.remove_writer(self._socket)
            self._line.consume_input()
            while not self._line.is_busy():
                if (result := self._line.get_result()) is None:
                    self._leave()
                    return
                self._results.append(result)
        except psycopg.Error as error:
            self._leave(error)

    def _look(self) -> None:
        # A loop may not tell of a line that was reset: uvloop stops watching it without a word.
        self._step()
        if self._timer is not None:
            self._timer = self._loop.call_later(LOOK_AGAIN, self._look)

    def _leave(self, error: psycopg.Error | None = None) -> None:
        # At once, and once: libpq has closed a line that is lost, and the next to be opened gets its number.
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)


def _rows(session: Session, result: PGresult) -> Rows:
    if result.status != ExecStatus.TUPLES_OK:
        return []
    session.reader.set_pgresult(result)
    return session.reader.load_rows(0, result.ntuples, tuple)
