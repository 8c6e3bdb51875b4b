"""What the PostgreSQL tests share: an engine on a schema of its own, and a hand inside the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from penstock.engines.postgres.engine import PostgresEngine
from servers import PostgresServer, fresh_schema, postgres_server


@asynccontextmanager
async def fresh_engine(server: PostgresServer | None = None, **options: Any) -> AsyncIterator[PostgresEngine]:
    """A migrated and open engine."""
    schema = fresh_schema()
    # Named after its schema, so that `end_backends` can tell its sessions from those of other tests.
    url = f"{(server or postgres_server()).url()}?application_name={schema}"
    engine = PostgresEngine(url, schema=schema, **options)
    await engine.migrate()
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


async def connect(server: PostgresServer | None = None) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect((server or postgres_server()).url(), autocommit=True)


async def ask(sql: str, *values: Any, server: PostgresServer | None = None) -> list[tuple[Any, ...]]:
    """Run one statement on a connection of its own."""
    async with await connect(server) as connection:
        cursor = await connection.execute(sql, values or None)
        return await cursor.fetchall() if cursor.description else []


async def end_backends(engine: PostgresEngine, last_statement: str = "%") -> int:
    """Terminate the engine's sessions whose last statement is like this; how many."""
    sql = """
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where application_name = %s and query ilike %s
    """
    return len(await ask(sql, engine.schema, last_statement))


async def until_listening(engine: PostgresEngine) -> None:
    while not engine._listener._listening:
        await engine.wait(["nothing"], 0.05)
