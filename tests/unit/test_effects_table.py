"""The table of `ctx.once` in any database of the user's: it can be made and pruned without an outbox."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli_kit import Run, loaded_shop, runner

from acceptance.fleet import new_database
from penstock.engine import Effect, EffectFilter, EffectName
from penstock.lent import AsyncLent, lent
from penstock.model.clock import FakeClock
from penstock.model.errors import SchemaMissing
from penstock.outbox import effects_table
from penstock.outbox.effects import SatelliteEffects
from penstock.outbox.effects_table import EffectsTable

__all__ = ["loaded_shop", "runner"]

JOB = "01a1e133-183e-726a-a254-c5b487689627"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'user.db'}"
    return new_database(request.getfixturevalue("postgres_url"))


def connect(url: str) -> Any:
    return (
        sqlite3.connect(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else psycopg.connect(url)
    )


def record(url: str, clock: FakeClock, *keep_for: float) -> None:
    with closing(connect(url)) as connection:
        on = lent(connection)
        assert not isinstance(on, AsyncLent)
        for n, seconds in enumerate(keep_for):
            SatelliteEffects(clock, "shop").once(
                on, Effect("pay", f"{clock.now()}-{n}", "charge", JOB, seconds)
            )
        connection.commit()


def names(url: str) -> list[str]:
    sql = "select name from sqlite_master where type = 'table' order by name"
    if not url.startswith("sqlite"):
        sql = "select tablename from pg_tables where schemaname = 'public' order by tablename"
    with closing(connect(url)) as connection:
        return [name for (name,) in connection.execute(sql).fetchall()]


async def test_it_is_made_alone_and_what_counts_no_more_is_removed(
    url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects_table, "STEP", 2)
    table = EffectsTable(url, clock)
    for _ in range(2):
        await table.apply()
    assert names(url) == ["penstock_effects"]
    record(url, clock, 10.0, 10.0, 10.0, 60.0)
    assert await table.prune() == 0
    clock.advance(11)
    assert await table.prune() == 3
    clock.advance(60)
    assert await table.prune() == 1


async def test_without_the_table_pruning_says_how_to_make_it(url: str, tmp_path: Path) -> None:
    (tmp_path / "user.db").touch()
    with pytest.raises(SchemaMissing, match="penstock effects apply --database URL"):
        await EffectsTable(url).prune()


def test_the_command_needs_no_app_where_the_database_is_named(run: Run, url: str) -> None:
    assert "penstock_outbox" not in run("effects", "plan", "--database", url).out
    said = run("effects", "apply", "--database", url)
    assert (said.code, "has a table of effects" in said.out) == (0, True)
    assert run("effects", "prune", "--database", url, "--json").json == {"removed": 0}
    assert "Removed 0 records from " in run("effects", "prune", "--database", url).out


def test_by_default_it_is_the_database_of_the_outbox(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_OUTBOX", url)
    assert run("effects", "apply").code == 0
    assert names(url) == ["penstock_effects"]
    assert "timestamptz" in run("effects", "plan", "--dialect", "postgresql").out
    assert "use postgresql or sqlite" in run("effects", "plan", "--dialect", "mysql").err


def test_without_either_it_says_what_is_missing(run: Run) -> None:
    assert "this app has no outbox" in run("effects", "apply").err


async def test_the_records_of_an_app_are_listed_by_pages(url: str, clock: FakeClock) -> None:
    table = EffectsTable(url, clock)
    await table.apply()
    record(url, clock, 60.0, 60.0, 60.0)
    first = await table.page("shop", EffectFilter(task="pay"), 2)
    assert [each.key[-1] for each in first] == ["0", "1"]
    [last] = await table.page("shop", EffectFilter(), 2, EffectName(*first[-1][:3]))
    assert (last.key[-1], last.job_id, last.first_at) == ("2", JOB, clock.now())
    assert await table.page("shop", EffectFilter(name="other"), 2) == []
    assert await table.page("another app", EffectFilter(), 2) == []
