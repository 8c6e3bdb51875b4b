"""Group commit: many verbs share one, and each is acknowledged after it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest

from conformance.kit import counts, new, news
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.errors import EngineError
from penstock.model.states import State


@pytest.fixture
async def engine(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    yield engine
    await engine.close()


class Held:
    """Keeps the writer busy inside a transaction, so that what comes meanwhile is queued."""

    def __init__(self, engine):
        self.begun, self.go = asyncio.Event(), threading.Event()
        self.loop = asyncio.get_running_loop()
        self.verb = asyncio.create_task(engine._write(self._hold))

    def _hold(self, tx):
        self.loop.call_soon_threadsafe(self.begun.set)
        self.go.wait()


async def queued_together(engine, *verbs):
    """Run verbs that are all in the queue before the first of them begins."""
    held = Held(engine)
    await held.begun.wait()
    tasks = [asyncio.create_task(verb) for verb in verbs]
    await asyncio.sleep(0)
    held.go.set()
    await held.verb
    return await asyncio.gather(*tasks, return_exceptions=True)


def traced(engine):
    statements = []
    engine._parts.store._connection.set_trace_callback(statements.append)
    return statements


async def test_verbs_queued_together_share_one_commit(engine):
    statements = traced(engine)
    await queued_together(engine, *[engine.enqueue([new()]) for _ in range(20)])
    assert statements.count("commit") == 2  # the verb that held the writer, and the twenty
    assert await counts(engine) == {State.WAITING: 20}


async def test_a_verb_that_fails_spoils_no_other_in_its_commit(engine):
    bad = engine.enqueue([new(), new(max_attempts=0)])
    answers = await queued_together(engine, engine.enqueue(news(2)), bad, engine.enqueue(news(3)))
    assert [len(answers[0]), len(answers[2])] == [2, 3]
    assert isinstance(answers[1], EngineError)
    assert await counts(engine) == {State.WAITING: 5}


async def test_a_verb_that_fails_alone_changes_nothing(engine):
    with pytest.raises(EngineError):
        await engine.enqueue([new(), new(max_attempts=0)])
    assert await counts(engine) == {}
    await engine.enqueue([new()])
    assert await counts(engine) == {State.WAITING: 1}


async def test_what_is_acknowledged_is_readable_by_a_stranger(engine, tmp_path):
    await engine.enqueue(news(3))
    stranger = sqlite3.connect(tmp_path / "jobs.db")
    assert stranger.execute("select count(*) from penstock_jobs").fetchone() == (3,)
    stranger.close()


async def test_commits_are_synced_to_the_disk(engine):
    [level] = await engine._write(lambda tx: tx.connection.execute("pragma synchronous").fetchone())
    assert level == 2  # FULL


async def test_close_finishes_what_is_queued(tmp_path):
    engine = SqliteEngine(str(tmp_path / "jobs.db"))
    await engine.open()
    tasks = [asyncio.create_task(engine.enqueue([new()])) for _ in range(10)]
    await asyncio.sleep(0)
    await engine.close()
    assert len(await asyncio.gather(*tasks)) == 10
    with pytest.raises(EngineError, match="not open"):
        await engine.enqueue([new()])


async def test_the_log_is_folded_into_the_file_when_it_has_grown(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(engine._parts.store, "_fold_at", 100_000)
    for _ in range(20):
        await engine.enqueue(news(50))
    await engine.tidy()
    assert (tmp_path / "jobs.db-wal").stat().st_size == 0
    assert await counts(engine) == {State.WAITING: 1_000}
