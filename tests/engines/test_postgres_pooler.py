"""A pooler before the server is seen, and what it allows is told."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from engines.pooler import Pooler
from penstock.engine import Finding, Level
from penstock.engines.postgres.engine import PostgresEngine
from servers import fresh_schema, postgres_server


async def examined(url: str) -> Finding:
    engine = PostgresEngine(url, schema=fresh_schema())
    try:
        return next(found for found in await engine.examine() if found.name == "pooler")
    finally:
        await engine.close()


async def test_without_a_pooler_none_is_seen():
    assert (await examined(postgres_server().url())).text.startswith("no pooler")


@pytest.mark.parametrize(
    ("mode", "level", "told"),
    [
        ("session", Level.OK, "in session mode"),
        ("transaction", Level.OK, "in transaction mode: all works, but no wake-up comes through"),
        ("statement", Level.UNUSABLE, "allows no transactions (statement mode)"),
    ],
)
async def test_a_pooler_is_told_with_its_mode(mode: str, level: Level, told: str):
    url = postgres_server().url()
    where = conninfo_to_dict(url)
    host, port = str(where["host"]), int(str(where["port"]))
    async with Pooler(host, port, mode).serve() as pooled:
        found = await examined(url.replace(f"{host}:{port}", f"127.0.0.1:{pooled}"))
    assert (found.level, told in found.text) == (level, True), found
