"""What doctor says of a PostgreSQL server: what is unsafe is named, with what it means and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engines.postgres_kit import ask, fresh_engine
from penstock.engine import Finding, Level
from penstock.engines.postgres import examine
from penstock.engines.postgres.engine import PostgresEngine
from servers import PostgresServer, fresh_schema, postgres_server

NOW = datetime(2026, 1, 5, tzinfo=UTC)
WELL = {"version": Level.OK, "durability": Level.OK}


def server(
    *,
    version: str = "16.4",
    number: int = 160_004,
    commit: str = "on",
    fsync: str = "on",
    full_pages: str = "on",
    standby: bool = False,
) -> dict[str, Finding]:
    """What is found of a server that answers so."""
    row: tuple[Any, ...] = (version, number, commit, fsync, full_pages, standby, NOW)
    return {finding.name: finding for finding in examine._server(row)}


async def findings(engine: PostgresEngine) -> dict[str, Finding]:
    return {finding.name: finding for finding in await engine.examine()}


def levels(found: dict[str, Finding]) -> dict[str, Level]:
    return {name: finding.level for name, finding in found.items()}


@pytest.mark.parametrize("commit", ["on", "local", "remote_write", "remote_apply"])
def test_a_durable_primary_is_well_and_its_settings_are_told(commit):
    found = server(commit=commit)
    assert levels(found) == WELL
    assert found["version"].text == "PostgreSQL 16.4"
    assert f"survives a crash (synchronous_commit={commit})" in found["durability"].text


@pytest.mark.parametrize(
    ("said", "name", "level", "told"),
    [
        (
            {"version": "11.22", "number": 110_022},
            "version",
            Level.UNSAFE,
            "11.22 is too old; Penstock needs 12",
        ),
        ({"version": "12.0", "number": 120_000}, "version", Level.OK, "PostgreSQL 12.0"),
        ({"standby": True}, "role", Level.WARNING, "a standby and takes no writes; name the primary"),
        ({"fsync": "off"}, "durability", Level.WARNING, "(fsync=off, full_page_writes=on); set both to on"),
        ({"full_pages": "off"}, "durability", Level.WARNING, "(fsync=on, full_page_writes=off); set both"),
        ({"fsync": "off", "commit": "off"}, "durability", Level.WARNING, "break the database"),
        ({"commit": "off"}, "durability", Level.WARNING, "(synchronous_commit=off); set it to on"),
    ],
)
def test_what_is_unsafe_about_a_server_is_told_with_what_to_do(said, name, level, told):
    found = server(**said)
    assert levels(found) == WELL | {name: level}
    assert told in found[name].text


@pytest.mark.parametrize(
    ("ahead", "level", "told"),
    [
        (0.0, Level.OK, "+0.000 s"),
        (1.9, Level.OK, "+1.900 s"),
        (-1.9, Level.OK, "-1.900 s"),
        (2.1, Level.WARNING, "+2.1 s from this machine's, and jobs go by it; let both use NTP"),
        (-10.0, Level.WARNING, "-10.0 s from this machine's, and jobs go by it; let both use NTP"),
    ],
)
def test_a_server_whose_clock_is_off_by_more_than_two_seconds_is_warned_of(ahead, level, told):
    found = examine._clock(NOW + timedelta(seconds=ahead), NOW.timestamp())
    assert (found.name, found.level) == ("clock", level)
    assert told in found.text


async def test_a_server_is_asked_for_each_of_its_settings():
    [(version,)] = await ask("select current_setting('server_version')")
    async with fresh_engine() as engine:
        found = await findings(engine)
    assert levels(found) == {
        **WELL, "durability": Level.WARNING, "clock": Level.OK, "schema": Level.OK, "pooler": Level.OK
    }  # fmt: skip
    assert found["version"].text == f"PostgreSQL {version}"
    assert "(fsync=off, full_page_writes=off)" in found["durability"].text, "as the tests' server is"


async def test_a_role_that_does_not_wait_for_the_disk_is_told_where_the_server_does():
    with PostgresServer(durable=True) as own:
        async with fresh_engine(own) as engine:
            assert (await findings(engine))["durability"].level is Level.OK
            await ask("alter role postgres set synchronous_commit = off", server=own)
            assert "(synchronous_commit=off)" in (await findings(engine))["durability"].text


async def test_doctor_may_look_before_anything_is_there_and_says_that_no_worker_would_start():
    engine = PostgresEngine(postgres_server().url(), schema=fresh_schema())
    try:
        missing = (await findings(engine))["schema"]
        assert missing.level is Level.UNUSABLE
        assert engine.schema in missing.text
        assert "penstock migrate" in missing.text
        await engine.migrate()
        assert (await findings(engine))["schema"].level is Level.OK
    finally:
        await engine.close()


async def test_a_schema_that_lacks_a_migration_is_told_with_its_name():
    async with fresh_engine() as engine:
        [(last,)] = await ask(f"select max(name) from {engine.schema}.migrations")
        await ask(f"delete from {engine.schema}.migrations where name = %s", last)
        schema = (await findings(engine))["schema"]
    assert schema.level is Level.UNUSABLE
    assert f"lacks {last}" in schema.text
