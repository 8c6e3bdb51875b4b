"""A caller's own connection to the engine's file: neither starves the other, and neither waits for ever."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from conformance.kit import counts, new, put, state
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.engines.sqlite.lent import SqliteOnLent
from penstock.engines.sqlite.lock import FileLock
from penstock.lent.sqlite import Aiosqlite, Sqlite
from penstock.model.clock import EngineClock
from penstock.model.errors import EngineUnavailable, InvalidOption
from penstock.model.states import State


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.migrate()
    await engine.open()
    yield engine
    await engine.close()


@pytest.fixture
def verbs(tmp_path: Path) -> SqliteOnLent:
    return SqliteOnLent(str(tmp_path / "jobs.db"), EngineClock())


def connect(tmp_path: Path, **options: float) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "jobs.db", **options)  # type: ignore[arg-type]


async def until_taken(path: str) -> None:
    lock = FileLock(path)
    while lock.take(0.0):
        lock.release()
        await asyncio.sleep(0)
    lock.close()


async def test_who_cannot_begin_is_told_after_his_own_patience_while_the_engine_waits(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path
) -> None:
    first, second = connect(tmp_path), connect(tmp_path, timeout=0.05)
    verbs.enqueue(Sqlite(first), [new()])
    waiting = asyncio.create_task(put(engine))
    await until_taken(f"{tmp_path}/jobs.db-lock")  # the engine waits for the first by now
    began = time.monotonic()
    with pytest.raises(EngineUnavailable, match="nothing was changed"):
        verbs.enqueue(Sqlite(second), [new()])
    assert time.monotonic() - began < 5
    assert not second.in_transaction
    first.commit()
    await waiting
    verbs.enqueue(Sqlite(second), [new()])
    second.commit()
    assert await counts(engine) == {State.WAITING: 3}
    first.close()
    second.close()


def closed(connection: sqlite3.Connection) -> None:
    connection.close()


def query_only(connection: sqlite3.Connection) -> None:
    connection.execute("pragma query_only = on")


@pytest.mark.parametrize(
    ("mode", "done_to_it", "why"),
    [("rw", closed, "closed; lend"), ("rw", query_only, "query_only = off"), ("ro", None, "mode=ro")],
)
async def test_a_connection_that_cannot_write_is_refused_with_what_to_do(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path, mode: str, done_to_it: Any, why: str
) -> None:
    connection = sqlite3.connect(f"file:{tmp_path}/jobs.db?mode={mode}", uri=True)
    if done_to_it:
        done_to_it(connection)
    with pytest.raises(InvalidOption, match=why):
        verbs.enqueue(Sqlite(connection), [new()])
    connection.close()
    with pytest.raises(InvalidOption, match="closed; lend"):
        Sqlite(connection).begin()
    assert await counts(engine) == {}


async def test_a_closed_connection_of_aiosqlite_is_refused_with_what_to_do(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path
) -> None:
    connection = await aiosqlite.connect(tmp_path / "jobs.db")
    await connection.close()
    with pytest.raises(InvalidOption, match="closed; lend"):
        await verbs.aenqueue(Aiosqlite(connection), [new()])


async def test_a_busy_engine_does_not_starve_the_caller(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path
) -> None:
    connection = sqlite3.connect(tmp_path / "jobs.db", check_same_thread=False)
    over = threading.Event()

    async def crowd() -> None:
        while not over.is_set():
            await engine.enqueue([new()])

    def one_by_one() -> list[str]:
        made = []
        for _ in range(50):
            made += [answer.id for answer in verbs.enqueue(Sqlite(connection), [new()])]
            connection.commit()
        over.set()
        return made

    crowds = [asyncio.create_task(crowd()) for _ in range(4)]
    made = await asyncio.to_thread(one_by_one)
    await asyncio.gather(*crowds)
    assert {await state(engine, job_id) for job_id in made} == {State.WAITING}
    connection.close()


async def test_the_callers_commit_does_not_checkpoint(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path
) -> None:
    connection = connect(tmp_path)
    verbs.enqueue(Sqlite(connection), [new()])
    assert connection.execute("pragma wal_autocheckpoint").fetchone() == (0,)
    connection.commit()
    connection.close()


async def test_a_transaction_that_has_read_nothing_yet_waits_for_another_to_end(
    engine: SqliteEngine, verbs: SqliteOnLent, tmp_path: Path
) -> None:
    mine, other = connect(tmp_path), sqlite3.connect(tmp_path / "jobs.db", check_same_thread=False)
    verbs.enqueue(Sqlite(other), [new()])
    writing = threading.Event()
    mine.set_trace_callback(lambda sql: writing.set() if sql.startswith(("insert", "delete")) else None)

    def commit_when_awaited() -> None:
        writing.wait(30)
        other.commit()

    thread = threading.Thread(target=commit_when_awaited)
    thread.start()
    mine.execute("begin")  # which reads nothing by itself
    verbs.enqueue(Sqlite(mine), [new()])
    mine.commit()
    thread.join()
    assert await counts(engine) == {State.WAITING: 2}
    mine.close()
    other.close()
