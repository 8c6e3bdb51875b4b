"""A server that may forget what it has acknowledged is named when the engine opens."""

from __future__ import annotations

import logging

import pytest

from engines.postgres_kit import ask
from penstock.engines.postgres.engine import PostgresEngine
from servers import fresh_schema, postgres_server


async def warnings_at_open(caplog, url: str) -> list[str]:
    engine = PostgresEngine(url, schema=fresh_schema())
    await engine.migrate()
    with caplog.at_level(logging.WARNING, "penstock"):
        await engine.open()
    await engine.close()
    return [record.getMessage() for record in caplog.records]


async def test_commits_that_do_not_wait_for_the_disk_are_warned_of_with_what_to_do(caplog):
    url = f"{postgres_server().url()}?options=-c%20synchronous_commit%3Doff"
    [warning] = await warnings_at_open(caplog, url)
    assert "synchronous_commit is off" in warning
    assert "may be lost" in warning
    assert "alter role" in warning


async def test_a_setting_of_the_role_is_seen_too(caplog):
    role = fresh_schema()
    await ask(f"create role {role} login superuser")
    await ask(f"alter role {role} set synchronous_commit = off")
    [warning] = await warnings_at_open(caplog, postgres_server().url().replace("postgres@", f"{role}@"))
    assert f"alter role {role} set synchronous_commit = on" in warning


@pytest.mark.parametrize("level", ["on", "local", "remote_write", "remote_apply"])
async def test_commits_that_wait_for_the_disk_are_not_warned_of(caplog, level):
    url = f"{postgres_server().url()}?options=-c%20synchronous_commit%3D{level}"
    assert await warnings_at_open(caplog, url) == []
