"""Whether the server keeps what it acknowledges."""

from __future__ import annotations

import logging

from penstock.engines.postgres.database import Connection

log = logging.getLogger("penstock.engine")


async def check(connection: Connection) -> None:
    """Warn where commits are acknowledged before they are on disk: the operator's choice, but not silent."""
    cursor = await connection.execute(
        "select current_setting('synchronous_commit'), quote_ident(current_user)"
    )
    row = await cursor.fetchone()
    if row is not None and row[0] == "off":
        log.warning(
            "synchronous_commit is off on this PostgreSQL: jobs enqueued and settled in the last moments "
            "before a crash of the server may be lost or run again, although they were acknowledged. "
            "Set it on for Penstock's role: `alter role %s set synchronous_commit = on`",
            row[1],
        )
