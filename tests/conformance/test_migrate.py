"""open, close and migrate: the schema is there, once, and what was opened is let go."""

import asyncio
import sqlite3
from contextlib import closing

import psycopg
import pytest

from conformance.kit import Place, put, read, register, take
from conftest import no_leaks
from penstock.model.errors import SchemaMissing, SchemaTooNew
from penstock.model.states import State


def used_by_others(place: Place) -> None:
    """A database that is not empty and knows nothing of Penstock."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.address)) as connection:
            connection.execute("create table theirs (x)")


async def test_an_engine_without_its_schema_says_so(shared_place):
    used_by_others(shared_place)
    engine = shared_place.engine()
    with no_leaks():
        with pytest.raises(SchemaMissing, match="penstock migrate"):
            await engine.open()
        await engine.close()
    await engine.migrate()
    await engine.open()
    await engine.close()


async def migrated_by_a_later_release(place: Place) -> None:
    engine = place.engine()
    await engine.migrate()
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.address)) as connection, connection:
            connection.execute("insert into penstock_migrations values (9999, '9999_future', 0)")
    elif place.kind == "postgres":
        with psycopg.connect(place.address, autocommit=True) as connection:
            connection.execute(f"insert into {place.schema}.migrations (name) values ('9999_future')")
    else:
        async with engine._opened():
            await engine._do("migrate", b"9999_future")
    await engine.close()


async def test_a_newer_schema_is_neither_opened_nor_migrated(shared_place):
    await migrated_by_a_later_release(shared_place)
    engine = shared_place.engine()
    with no_leaks():
        with pytest.raises(SchemaTooNew, match="9999_future"):
            await engine.migrate()
        with pytest.raises(SchemaTooNew, match="9999_future"):
            await engine.open()
        await engine.close()


async def test_migrating_names_what_it_did_and_then_has_nothing_to_do(shared_place):
    engine = shared_place.engine()
    applied = await engine.migrate()
    assert applied
    assert len(set(applied)) == len(applied)
    assert await engine.migrate() == []
    await engine.open()
    assert await engine.migrate() == []
    await engine.close()


async def test_migrating_again_keeps_the_jobs(engine, worker):
    held = await take(engine, key="k")
    await engine.migrate()
    job = await read(engine, held.id)
    assert (job.state, job.key) == (State.ACTIVE, "k")


async def test_several_engines_migrate_at_once(shared_place):
    engines = [shared_place.engine() for _ in range(4)]
    applied = await asyncio.gather(*(e.migrate() for e in engines))
    assert sum(1 for names in applied if names) == 1
    for engine in engines:
        await engine.open()
        await engine.close()


async def test_jobs_outlive_the_engine_object(shared_place, clock):
    first = shared_place.engine(clock)
    await first.migrate()
    await first.open()
    await register(first)
    waiting, held = await put(first, "other", delay=60), await take(first)
    await first.close()
    second = shared_place.engine(clock)
    await second.open()
    assert (await read(second, waiting)).state is State.DELAYED
    assert (await read(second, held.id)).state is State.ACTIVE
    await second.close()


async def test_two_storages_are_strangers(shared_place, tmp_path):
    from dataclasses import replace

    one = shared_place.engine()
    if shared_place.schema:
        other = replace(shared_place, schema=shared_place.schema + "_b")
    else:
        other = replace(shared_place, address=str(tmp_path / "b.db"))
    two = other.engine()
    for engine in (one, two):
        await engine.migrate()
        await engine.open()
    job = await put(one)
    assert await two.get(job) is None
    assert await two.queues() == []
    await one.close()
    await two.close()


async def test_closing_lets_go_of_threads_sockets_and_files(shared_place):
    with no_leaks():
        engine = shared_place.engine()
        await engine.migrate()
        await engine.open()
        await register(engine)
        waiting = asyncio.create_task(engine.wait(["default"], 600))
        await asyncio.gather(*(put(engine) for _ in range(20)))
        await waiting
        await engine.close()


async def test_closing_twice_and_unopened_does_no_harm(place):
    with no_leaks():
        engine = place.engine()
        await engine.close()
        await engine.migrate()
        await engine.open()
        await engine.close()
        await engine.close()


async def test_opening_and_closing_many_times_leaves_nothing(shared_place):
    engine = shared_place.engine()
    await engine.migrate()
    await engine.close()
    with no_leaks():
        for _ in range(20):
            engine = shared_place.engine()
            await engine.open()
            await engine.close()


async def test_tidying_changes_no_meaning(engine, worker):
    held = await take(engine, key="k")
    await put(engine, "other", delay=60)
    before = (await read(engine, held.id), await engine.queues(), await engine.workers())
    await engine.tidy()
    assert (await read(engine, held.id), await engine.queues(), await engine.workers()) == before
