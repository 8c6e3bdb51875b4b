"""What is safe and what is not about a PostgreSQL server, told for people who can change it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from penstock.engine import Finding, Level
from penstock.engines.postgres import migrate
from penstock.engines.postgres.database import Connection
from penstock.model.errors import EngineError

OLDEST = 120_000
SKEW_SECONDS = 2.0
_SETTINGS = """
select current_setting('server_version'), current_setting('server_version_num')::integer,
    current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),
    pg_is_in_recovery(), clock_timestamp()
"""


async def examine(connection: Connection, schema: str) -> list[Finding]:
    """What there is to say of a server with jobs in it."""
    return [*await look_at(connection), await _schema(connection, schema)]


async def look_at(connection: Connection) -> list[Finding]:
    """The server's own account of itself."""
    before = time.time()
    cursor = await connection.execute(_SETTINGS)
    row = await cursor.fetchone()
    assert row is not None
    middle = (before + time.time()) / 2
    return [*_server(row), _clock(row[6], middle)]


def _server(row: tuple[Any, ...]) -> Iterator[Finding]:
    version, number, commit, fsync, full_pages, standby, _ = row
    if number < OLDEST:
        yield Finding("version", Level.UNSAFE, f"PostgreSQL {version} is too old; Penstock needs 12 or later")
    else:
        yield Finding("version", Level.OK, f"PostgreSQL {version}")
    if standby:
        yield Finding("role", Level.WARNING, "this server is a standby and takes no writes; name the primary")
    if fsync == "off" or full_pages == "off":
        yield Finding(
            "durability",
            Level.WARNING,
            f"a crash of the machine can lose jobs and break the database (fsync={fsync}, "
            f"full_page_writes={full_pages}); set both to on",
        )
    elif commit == "off":
        yield Finding(
            "durability",
            Level.WARNING,
            "a crash of the server loses the last jobs acknowledged, those of less than a second "
            "(synchronous_commit=off); set it to on",
        )
    else:
        yield Finding(
            "durability", Level.OK, f"every acknowledged job survives a crash (synchronous_commit={commit})"
        )


def _clock(theirs: datetime, ours: float) -> Finding:
    skew = theirs.timestamp() - ours
    if abs(skew) > SKEW_SECONDS:
        return Finding(
            "clock",
            Level.WARNING,
            f"the server's clock is {skew:+.1f} s from this machine's, and jobs go by it; let both use NTP",
        )
    return Finding("clock", Level.OK, f"the server's clock is {skew:+.3f} s from this machine's")


async def _schema(connection: Connection, schema: str) -> Finding:
    try:
        await migrate.check(connection, schema)
    except EngineError as error:
        return Finding("schema", Level.UNUSABLE, str(error))
    return Finding("schema", Level.OK, f"schema {schema!r} is up to date")
