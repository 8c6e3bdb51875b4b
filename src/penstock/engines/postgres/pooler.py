"""Whether a pooler stands between us and the server, and for how long it lends a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import psycopg

from penstock.engine import Finding, Level
from penstock.engines.postgres.database import Connection
from penstock.model.errors import EngineError

PATIENCE = 2.0  # seconds for a second session: a pooler without a free one lets us wait

_NONE = Finding("pooler", Level.OK, "no pooler stands between this machine and the server")
_SESSION = Finding("pooler", Level.OK, "a pooler stands before the server, in session mode as it seems")
_TRANSACTION = Finding(
    "pooler",
    Level.OK,
    "a pooler stands before the server, in transaction mode: all works, but no wake-up comes through, and "
    "workers look at their queues four times a second; for less delay name the server itself in their URL",
)
_STATEMENT = Finding(
    "pooler",
    Level.UNUSABLE,
    "a pooler stands before the server and allows no transactions (statement mode), without which nothing "
    "here works; set its pool_mode to transaction or session, or name the server itself in the URL",
)


async def look_for(connection: Connection, another: Callable[[], Awaitable[Connection]]) -> Finding:
    """A pooler gives each session a number of its own; the server knows another."""
    told = connection.info.backend_pid
    if await _pid(connection) == told:
        return _NONE
    try:
        async with connection.transaction():
            mine = await _pid(connection)
    except psycopg.Error:
        return _STATEMENT
    try:
        async with asyncio.timeout(PATIENCE), await another() as second:
            lent = await _pid(second) == mine  # though the first is open still
    except (TimeoutError, EngineError, psycopg.Error):
        return _SESSION
    return _TRANSACTION if lent else _SESSION


async def _pid(connection: Connection) -> int:
    row = await (await connection.execute("select pg_backend_pid()")).fetchone()
    assert row is not None
    return int(row[0])
