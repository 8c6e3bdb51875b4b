"""The schema comes by itself to a new file, and by migration to any other."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing

import pytest

from conformance.kit import Place, counts, new
from forks import FORKS
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.schema import MIGRATIONS
from penstock.model.errors import EngineError, SchemaMissing, SchemaTooNew
from penstock.model.states import State


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


def change(path, *statements):
    with closing(sqlite3.connect(path)) as stranger, stranger:
        for statement in statements:
            stranger.execute(statement)


def open_and_enqueue(place: Place) -> int:
    async def run() -> int:
        engine = place.engine()
        await engine.open()
        answers = await engine.enqueue([new()])
        await engine.close()
        return len(answers)

    return asyncio.run(run())


async def test_several_processes_open_a_new_file_at_once(path):
    place = Place("sqlite", str(path))
    with ProcessPoolExecutor(4, FORKS) as pool:  # a child that dies is told: a plain pool would wait for ever
        answers = await asyncio.to_thread(lambda: [*pool.map(open_and_enqueue, [place] * 4)])
    assert answers == [1, 1, 1, 1]
    engine = SqliteEngine(str(path))
    await engine.open()
    assert await counts(engine) == {State.WAITING: 4}
    await engine.close()


async def test_a_strangers_database_is_not_touched_until_migrated(path):
    change(path, "create table jobs (id integer)")
    engine = SqliteEngine(str(path))
    with pytest.raises(SchemaMissing, match="penstock migrate"):
        await engine.open()
    with closing(sqlite3.connect(path)) as stranger:
        assert [row[0] for row in stranger.execute("select name from sqlite_master")] == ["jobs"]


async def test_our_tables_live_beside_a_users_own(path):
    change(path, "create table jobs (id integer)", "create table workers (id integer)")
    engine = SqliteEngine(str(path))
    assert await engine.migrate() == list(MIGRATIONS)
    assert await engine.migrate() == []
    await engine.open()
    assert len(await engine.enqueue([new()])) == 1
    await engine.close()


async def test_an_older_schema_is_refused(path):
    engine = SqliteEngine(str(path))
    await engine.migrate()
    change(path, "delete from penstock_migrations")
    with pytest.raises(SchemaMissing, match="0001_initial"):
        await engine.open()


async def test_a_newer_schema_is_refused(path):
    engine = SqliteEngine(str(path))
    await engine.migrate()
    change(path, "insert into penstock_migrations values (9999, '9999_future', 0)")
    with pytest.raises(SchemaTooNew, match="9999_future"):
        await engine.open()


async def test_a_migration_that_fails_leaves_nothing(path, monkeypatch):
    monkeypatch.setitem(MIGRATIONS, "0002_broken", "create table half (id integer);\ncreate nonsense;\n")
    engine = SqliteEngine(str(path))
    with pytest.raises(EngineError, match="nonsense"):
        await engine.migrate()
    with closing(sqlite3.connect(path)) as stranger:
        assert stranger.execute("select count(*) from sqlite_master").fetchone() == (0,)


async def test_both_tables_of_jobs_have_the_same_columns(path):
    await SqliteEngine(str(path)).migrate()
    with closing(sqlite3.connect(path)) as stranger:
        jobs = stranger.execute("pragma table_info(penstock_jobs)").fetchall()
        assert stranger.execute("pragma table_info(penstock_finished)").fetchall() == jobs
