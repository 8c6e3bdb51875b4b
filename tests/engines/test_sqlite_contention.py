"""Several processes and strangers on one file."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

from conformance.kit import Place, claim, counts, end, ids, new, news, register
from forks import FORKS
from penstock.engines.sqlite.engine import SqliteEngine
from penstock.model.decide import judge
from penstock.model.errors import EngineUnavailable
from penstock.model.states import State

PROCESSES = 8
ROUNDS = 150
T = TypeVar("T")
START: Any = None  # in a process of the pool: the barrier at which all begin


def line_up(start: Any) -> None:
    """Give a process of the pool the barrier at which all of them begin."""
    global START  # noqa: PLW0603 - the way a pool hands something to its processes
    START = start


def work_alone(place: Place, name: str) -> tuple[list[str], float, float, float]:
    """Enqueue, claim and settle: the jobs completed, the longest wait for a verb, the begin and the end."""

    async def work() -> tuple[list[str], float, float, float]:
        engine = place.engine()
        await engine.open()
        await register(engine, name)
        done: list[str] = []
        longest = 0.0

        async def timed(verb: Awaitable[T]) -> T:
            nonlocal longest
            asked = time.monotonic()
            answer = await verb
            longest = max(longest, time.monotonic() - asked)
            return answer

        START.wait(60)
        began = time.monotonic()
        for _ in range(ROUNDS):
            await timed(engine.enqueue(news(5)))
            held = await timed(claim(engine, worker=name, limit=5))
            settled = await timed(engine.settle([end(h) for h in held]))
            done += [h.id for h, accepted in zip(held, settled.accepted, strict=True) if accepted]
        ended = time.monotonic()
        await engine.close()
        return done, longest, began, ended

    return asyncio.run(work())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


@pytest.fixture
async def engine(path, clock):
    """An engine with one worker, whose time passes when the test says so."""
    engine = SqliteEngine(str(path), clock=clock)
    await engine.open()
    await register(engine, "w1", ttl=30)
    yield engine
    await engine.close()


async def test_eight_processes_take_turns_and_nobody_sees_a_locked_database(path):
    place = Place("sqlite", str(path))
    with FORKS.Pool(PROCESSES, line_up, (FORKS.Barrier(PROCESSES),)) as pool:
        work = pool.starmap_async(work_alone, [(place, f"w{n}") for n in range(PROCESSES)], chunksize=1)
        answers = await asyncio.to_thread(work.get)
    done, longest, began, ended = zip(*answers, strict=True)
    completed = Counter(job for jobs in done for job in jobs)
    assert completed.total() == len(completed) == PROCESSES * ROUNDS * 5
    assert max(began) < min(ended), "the processes did not contend"
    assert max(longest) < 1.0


async def test_a_stranger_holding_the_write_lock_is_waited_for(path):
    engine = SqliteEngine(str(path))
    await engine.open()
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("begin immediate")
    enqueueing = asyncio.create_task(engine.enqueue([new()]))
    _, pending = await asyncio.wait({enqueueing}, timeout=0.6)  # longer than SQLite itself would wait
    assert pending
    stranger.execute("commit")
    assert len(await enqueueing) == 1
    stranger.close()
    await engine.close()


async def test_reads_do_not_wait_for_a_write_transaction(path):
    engine = SqliteEngine(str(path))
    await engine.open()
    [job] = await engine.enqueue([new()])
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("begin immediate")
    assert (await engine.get(job.id)).id == job.id
    assert await counts(engine) == {State.WAITING: 1}
    stranger.close()
    await engine.close()


async def test_a_long_write_transaction_expires_nobody(engine, clock, path):
    await engine.enqueue(news(2))
    held = await claim(engine, worker="w1", limit=1)
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("begin immediate")
    for _ in range(10):
        clock.advance(20)
        assert not (await engine.beat("w1", 30)).given_up
        assert await engine.rescue(10, judge) == []
    stranger.execute("rollback")
    stranger.close()
    assert (await engine.settle([end(h) for h in held])).accepted == [True]
    assert len(await claim(engine, worker="w1")) == 1


async def test_a_rescue_is_final_even_where_its_own_commit_failed(engine, clock):
    await engine.enqueue([new()])
    held = await claim(engine, worker="w1")
    clock.advance(31)

    def broken(_held):
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise full

    with pytest.raises(EngineUnavailable):
        await engine.rescue(10, broken)
    assert (await engine.beat("w1", 30)).given_up
    assert ids(await engine.rescue(10, judge)) == ids(held)


async def test_a_bad_row_does_not_keep_others_from_being_rescued(engine, clock):
    jobs = news(3)
    await engine.enqueue(jobs)
    await claim(engine, worker="w1")
    await engine._write(
        lambda tx: tx.connection.execute("update penstock_jobs set errors = '{' where id = ?", (jobs[1].id,))
    )
    clock.advance(31)
    assert ids(await engine.rescue(10, judge)) == [jobs[0].id, jobs[2].id]
