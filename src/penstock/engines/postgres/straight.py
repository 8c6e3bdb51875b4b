"""One prepared statement in one round trip, on libpq itself: the driver's general way costs far more CPU.

Only for sessions that are ours: a prepared statement lives and dies with its session. Values go as text, and
their types are the server's to find.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from penstock.engines.postgres.watch import Seat

Rows: TypeAlias = list[tuple[Any, ...]]

_PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")


class Session(psycopg.AsyncConnection[Any]):
    """A connection that knows which statements it has prepared, and under which names."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.seat = Seat()
        super().__init__(*args, **kwargs)
        self.prepared: dict[str, bytes] = {}
        self.reader = Transformer(self)
        self._ear: select.poll | None = None

    @property
    def is_usable(self) -> bool:
        """Idle servers say nothing unless to take leave: what is readable here is a goodbye."""
        if self.closed:
            return False
        if self._ear is None:
            self._ear = select.poll()
            self._ear.register(self.fileno(), select.POLLIN)
        return not self._ear.poll(0)

    async def wait(self, *args: Any, **kwargs: Any) -> Any:
        """The driver's general way, for which it takes a place at the socket itself."""
        self.seat.leave()
        return await super().wait(*args, **kwargs)

    async def close(self) -> None:
        self.seat.leave()
        await super().close()

    def __del__(self, *_: Any) -> None:
        self.seat.leave()  # with it goes its socket, whose number the next one gets
        super().__del__()


class Statement(NamedTuple):
    """What the server is given, and the names of its values in order."""

    text: bytes
    names: tuple[str, ...]


async def query(
    session: Session, sql: str, values: dict[str, Any], texts: Sequence[bytes | None] | None = None
) -> Rows:
    """The rows of one statement, in a transaction of its own; `texts`: the values, where they are written."""
    return _rows(session, await send(session, sql, texts or texts_of(sql, values)))


def texts_of(sql: str, values: dict[str, Any]) -> list[bytes | None]:
    """The values of a statement in the order of their names, as text."""
    names = _statement(sql).names
    return [None if (value := values[name]) is None else encoded(value) for name in names]


def send(session: Session, sql: str, parameters: Sequence[bytes | None]) -> Awaitable[PGresult]:
    """The answer to one statement, in a transaction of its own; its values in the order of their names."""
    name = session.prepared.get(sql)
    if name is None:
        return _prepare_and_send(session, sql, parameters)
    try:
        session.pgconn.send_query_prepared(name, parameters, result_format=Format.BINARY)
    except psycopg.Error:
        session.seat.leave()  # libpq may have closed the socket
        raise
    return _answer(session)


async def _prepare_and_send(session: Session, sql: str, parameters: Sequence[bytes | None]) -> PGresult:
    await _prepare(session, sql, _statement(sql).text)
    return await send(session, sql, parameters)


async def _prepare(session: Session, sql: str, text: bytes) -> None:
    name = b"penstock_%d" % len(session.prepared)
    session.pgconn.send_prepare(name, text)
    try:
        await _answer(session)
    except BaseException:
        await session.close()  # given up just now, nobody knows whether it is prepared
        raise
    session.prepared[sql] = name


@lru_cache
def _statement(sql: str) -> Statement:
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(sql)))
    text = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    return Statement(text.replace("%%", "%").encode(), names)


def encoded(value: Any) -> bytes:
    """A value as text."""
    raw = (value if type(value) is str else _TEXTS[type(value)](value)).encode()
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
    int: str,
    bool: str,
    float: repr,
    datetime: datetime.isoformat,
    list: _list,
}


async def _answer(session: Session) -> PGresult:
    """Send what is left to send, and read until the server says that the transaction is over."""
    line, seat = session.pgconn, session.seat
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    results: list[PGresult] = []

    def step() -> None:
        try:
            if watch.writing:
                watch.write(bool(line.flush()))
            line.consume_input()
            while not line.is_busy():
                if result := line.get_result():
                    results.append(result)
                else:
                    seat.rest()
                    if not over.done():
                        over.set_result(None)
                    return
        except psycopg.Error as error:
            seat.leave()
            if not over.done():
                over.set_exception(error)

    unsent = line.flush()
    watch = seat.begin(line.socket, step)
    try:
        if unsent:
            watch.write(True)
        await over
    except BaseException:
        seat.rest()
        raise
    return _good(results)


def _good(results: Sequence[PGresult]) -> PGresult:
    """The first, unless one of them tells of an error."""
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
    return results[0]


def _rows(session: Session, result: PGresult) -> Rows:
    if result.status != ExecStatus.TUPLES_OK:
        return []
    session.reader.set_pgresult(result)
    return session.reader.load_rows(0, result.ntuples, tuple)
