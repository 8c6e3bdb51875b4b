"""A few connections, opened when needed, checked before use, severed when a call takes too long."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import IsolationLevel, conninfo
from psycopg.pq import TransactionStatus

from penstock.engines.postgres import failures
from penstock.engines.postgres.straight import Session
from penstock.model.errors import EngineError, EngineUnavailable, InvalidOption

CONNECT_SECONDS = 5
CALL_SECONDS = 20.0
# The database, the role or the URL may be set otherwise. What others have changed or locked must be waited
# for or passed by, and not be an error.
ISOLATION = IsolationLevel.READ_COMMITTED
# For every session of ours. Where a pooler refuses or drops this, each transaction sets its limits itself.
# Every statement of ours goes by an index; the defaults, made for disks that turn, think a scan is cheaper.
_SESSION = (
    "-c penstock.brief=on -c lock_timeout=2s -c statement_timeout=15s -c timezone=UTC "
    "-c enable_seqscan=off -c random_page_cost=1.1 -c jit=off -c plan_cache_mode=force_generic_plan "
    "-c default_transaction_isolation=read\\ committed"
)
_DEFAULTS: dict[str, Any] = {
    "application_name": "penstock",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


class Pool:
    """At most `size` connections for one process; a call waits for a free one, but not for ever."""

    def __init__(self, url: str, size: int) -> None:
        self._options = options_of(url)
        self._size = size
        self._free = Places(size)
        self._idle: list[Session] = []
        self._overruns = Overruns()
        self._pid: int | None = None
        # Whether a session is ours alone: begins with our limits, keeps what it prepared. None: not tried.
        self.ours: bool | None = None

    @property
    def address(self) -> str:
        """Where the database is, for people; never who connects or how."""
        host, port = self._options.get("host", "localhost"), self._options.get("port", 5432)
        return f"{host}:{port}/{self._options.get('dbname', '')}"

    def open(self) -> None:
        self._pid = os.getpid()

    async def close(self) -> None:
        self._pid = None
        self._overruns.forget()
        await self.drop_idle()

    async def drop_idle(self) -> None:
        """Let go of connections that may lead to the wrong server."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def connect(self) -> Session:
        """A new connection, outside the pool."""
        connecting = asyncio.ensure_future(self._connect())
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            # A connection given up halfway would stay open until somebody collects the garbage.
            with suppress(EngineError):
                await (await connecting).close()
            raise

    async def _connect(self) -> Session:
        try:
            if self.ours is None:
                self.ours = await self._takes_options()
            return await self._dial(_SESSION if self.ours else "")
        except psycopg.Error as error:
            raise failures.not_connected(error, self.address) from None

    async def _takes_options(self) -> bool:
        """Whether sessions begin with our limits: a pooler may refuse them, or take no notice."""
        try:
            async with await self._dial(_SESSION) as connection:
                cursor = await connection.execute("select current_setting('lock_timeout') = '2s'")
                return await cursor.fetchone() == (True,)
        except psycopg.OperationalError as error:
            if "startup parameter" not in str(error):
                raise
            return False

    async def _dial(self, settings: str) -> Session:
        options = f"{self._options.get('options', '')} {settings}".strip()
        arguments = {**self._options, "options": options} if options else self._options
        session = await Session.connect(**arguments, autocommit=True, prepare_threshold=None)
        await session.set_isolation_level(ISOLATION)
        return session

    def take_idle(self) -> Session | None:
        """A connection that lies ready, for one call; None where `take` has to wait, or to make one."""
        if (
            self._pid != os.getpid()
            or not self._idle
            or not self._idle[-1].is_usable
            or not self._free.take()
        ):
            return None
        return self._idle.pop()

    async def take(self) -> Session:
        """Wait for a connection for one call, and `give_back` it."""
        self._check_process()
        await self._wait_for_turn()
        try:
            return await self._idle_or_new()
        except BaseException:
            self._free.release()
            raise

    def time(self, connection: Session) -> None:
        """A call begins on it: one that takes too long is severed."""
        self._overruns.begin(connection, CALL_SECONDS)

    def give_back(self, connection: Session) -> Awaitable[None] | None:
        """The call is over; what is left to be awaited, where the connection cannot be used again."""
        self._overruns.end(connection)
        if self._pid != os.getpid() or connection.pgconn.transaction_status != TransactionStatus.IDLE:
            return self._close(connection)
        self._idle.append(connection)
        self._free.release()
        return None

    async def _close(self, connection: Session) -> None:
        try:
            await connection.close()
        finally:
            self._free.release()

    def _check_process(self) -> None:
        if self._pid is None:
            raise EngineError("this engine is not open; call `await engine.open()` first")
        if self._pid != os.getpid():
            raise EngineError("this engine was opened in another process; after fork, open a new one")

    async def _wait_for_turn(self) -> None:
        if self._free.take():
            return
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise EngineUnavailable(
                f"all {self._size} connections were busy for {CALL_SECONDS:g} s; raise pool_size or slow down"
            ) from None

    async def _idle_or_new(self) -> Session:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            await connection.close()
        return await self.connect()


class Places(asyncio.Semaphore):
    """A semaphore that can be asked without waiting."""

    def take(self) -> bool:
        """Whether one was free: it is taken now."""
        if self._value == 0 or self._waiters:
            return False
        self._value -= 1
        return True


class Overruns:
    """Severs connections whose calls take too long: one timer for all, instead of one for each call."""

    def __init__(self) -> None:
        self._until: dict[Session, float] = {}  # who began first stands first
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, session: Session, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._until[session] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(seconds, self._look)

    def end(self, session: Session) -> None:
        self._until.pop(session, None)

    def forget(self) -> None:
        """The loop may end, and its timers with it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._until.clear()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for session in [session for session, until in self._until.items() if until <= now]:
            del self._until[session]
            sever(session)
        first = next(iter(self._until.values()), None)
        self._timer = None if first is None else loop.call_later(first - now, self._look)


def sever(connection: Session) -> None:
    """Cut the line, so that whoever waits for an answer learns at once that there will be none."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def usable(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Idle servers say nothing unless to take leave: what is readable here is a goodbye."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def options_of(url: str) -> dict[str, Any]:
    """How to connect to the database of this URL."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # The parser repeats the URL in its message, and with it the password.
        raise InvalidOption(
            "the URL cannot be read; write postgresql://user:password@host:port/database"
        ) from None
    return {**_DEFAULTS, **given, "client_encoding": "UTF8"}
