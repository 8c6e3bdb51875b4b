"""Enqueueing in the caller's own transaction, through the front door."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiosqlite
import pytest

from penstock import (
    CalledInLoop,
    Disabled,
    InvalidArguments,
    InvalidOption,
    JobNotFound,
    NotSupported,
    Penstock,
    State,
)
from penstock.testing import sandbox


class Shop:
    """An app on a file, and a connection to that file."""

    def __init__(self, path: Path) -> None:
        self.app = app = Penstock(f"sqlite:///{path}")
        self.path = path
        self.open = True

        @app.task(on="paid")
        async def add(a: int, b: int = 1) -> int:
            return a + b

        @app.task(key="receipt:{a}", on="paid")
        async def send_receipt(a: int) -> int:
            return a

        @app.task(enabled=lambda: self.open)
        async def gated() -> None: ...

        self.add, self.send_receipt, self.gated = add, send_receipt, gated


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    found = Shop(tmp_path / "jobs.db")
    await found.app.migrate()
    return found


@pytest.fixture
def connection(shop: Shop) -> Iterator[sqlite3.Connection]:
    found = sqlite3.connect(shop.path)
    yield found
    found.close()


@pytest.fixture
async def awaited(shop: Shop) -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(shop.path) as found:
        yield found


async def work(shop: Shop) -> None:
    await shop.app.worker().run(burst=True)


async def jobs(shop: Shop) -> int:
    return sum(sum(queue.counts.values()) for queue in await shop.app.engine.queues())


async def test_a_committed_job_runs_and_gives_its_result(shop: Shop, connection: sqlite3.Connection) -> None:
    job = shop.add.using(connection=connection).enqueue(1, b=2)
    assert (job.state, job.duplicate, job.task, job.key) == (State.WAITING, False, "add", job.id)
    connection.commit()
    async with shop.app:
        await work(shop)
        assert await job.aresult(timeout=5) == 3


async def test_a_job_rolled_back_never_was(shop: Shop, connection: sqlite3.Connection) -> None:
    job = shop.add.using(connection=connection, delay=5, key="k").enqueue(1)
    assert (job.state, job.key) == (State.DELAYED, "k")
    connection.rollback()
    async with shop.app:
        assert await jobs(shop) == 0
        with pytest.raises(JobNotFound, match="not committed yet, or was rolled back"):
            await job.arefresh()


async def test_the_handle_of_a_job_not_committed_yet_says_so(
    shop: Shop, connection: sqlite3.Connection
) -> None:
    job = shop.add.using(connection=connection).enqueue(1)
    async with shop.app:
        for ask in (job.arefresh, job.aresult):
            with pytest.raises(JobNotFound, match="not committed yet"):
                await ask()
        connection.commit()
        assert (await job.arefresh()).state is State.WAITING


def test_a_program_without_a_loop_is_told_the_same(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "jobs.db")
    with shop.app:
        connection = sqlite3.connect(shop.path)
        job = shop.add.using(connection=connection).enqueue(1)
        for ask in (job.refresh, job.result):
            with pytest.raises(JobNotFound, match="not committed yet"):
                ask()
        connection.commit()
        assert job.refresh().state is State.WAITING
        connection.close()


async def test_a_connection_that_blocks_may_be_used_in_a_loop_by_both_twins(
    shop: Shop, connection: sqlite3.Connection
) -> None:
    with pytest.raises(CalledInLoop):
        shop.add.enqueue(1)
    shop.add.using(connection=connection).enqueue(1)
    await shop.add.using(connection=connection).aenqueue(2)
    connection.commit()
    async with shop.app:
        assert await jobs(shop) == 2


async def test_an_async_connection_leaves_only_the_async_twin(
    shop: Shop, awaited: aiosqlite.Connection
) -> None:
    using = shop.add.using(connection=awaited)
    assert not hasattr(using, "enqueue")
    with pytest.raises(AttributeError, match="aenqueue"):
        using.enqueue(1)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'send'"):
        using.send  # type: ignore[attr-defined]  # noqa: B018
    job = await using.using(priority="high").aenqueue(1)
    await awaited.commit()
    async with shop.app:
        assert (await shop.app.engine.get(job.id)).priority == 2  # type: ignore[union-attr]
    for wrong in (
        lambda: shop.app.enqueue_many([shop.add.call(1)], connection=awaited),  # type: ignore[arg-type]
        lambda: shop.app.emit("paid", {"a": 1}, connection=awaited),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidOption, match="async"):
            wrong()


async def test_many_an_event_and_a_flow_are_part_of_the_transaction(
    shop: Shop, connection: sqlite3.Connection, awaited: aiosqlite.Connection
) -> None:
    flow = shop.app.flow("course")
    first = flow.add(shop.add.call(1))
    flow.add(shop.add.call(2), after=[first])
    for end in (connection.rollback, connection.commit):
        calls = [shop.add.call(n) for n in range(3)]
        assert len(shop.app.enqueue_many(calls, connection=connection)) == 3
        assert {job.task for job in shop.app.emit("paid", {"a": 7}, connection=connection)} == {
            "add",
            "send_receipt",
        }
        handle = flow.enqueue(connection=connection)
        end()
    assert len(await shop.app.aenqueue_many([shop.add.call(1)], connection=awaited)) == 1
    assert len(await shop.app.aemit("paid", {"a": 8}, connection=awaited)) == 2
    await awaited.commit()
    async with shop.app:
        assert await jobs(shop) == 3 + 2 + 2 + 1 + 2
        await work(shop)
        assert [job.state for job in handle.jobs] == [State.WAITING, State.BLOCKED]
        assert [await job.aresult(timeout=5) for job in handle.jobs] == [2, 3]


async def test_calls_whose_transaction_was_rolled_back_can_be_enqueued_again(
    shop: Shop, connection: sqlite3.Connection
) -> None:
    calls = [shop.add.call(1), shop.send_receipt.call(1)]
    for end in (connection.rollback, connection.commit, connection.commit):
        found = shop.app.enqueue_many(calls, connection=connection)
        assert [(job.id, job.duplicate) for job in found] == [(call.job.id, False) for call in calls]
        end()
    async with shop.app:
        assert await jobs(shop) == 2
        assert [job.id for job in await shop.app.aenqueue_many(calls)] == [call.job.id for call in calls]


async def test_a_taken_key_answers_with_its_holder(shop: Shop, connection: sqlite3.Connection) -> None:
    async with shop.app:
        first = await shop.send_receipt.aenqueue(7)
        second = shop.send_receipt.using(connection=connection).enqueue(7)
        assert (second.id, second.duplicate, second.key) == (first.id, True, "receipt:7")
        assert (await second.arefresh()).state is State.WAITING
        connection.rollback()


async def test_what_is_refused_elsewhere_is_refused_here(shop: Shop, connection: sqlite3.Connection) -> None:
    with pytest.raises(InvalidArguments):
        shop.add.using(connection=connection).enqueue("one")  # type: ignore[arg-type]
    shop.open = False
    with pytest.raises(Disabled):
        shop.gated.using(connection=connection).enqueue()
    with pytest.raises(InvalidOption, match="another app"):
        Penstock("sqlite://:memory:").enqueue_many([shop.add.call(1)], connection=connection)
    with pytest.raises(InvalidOption, match="connection= takes an open connection"):
        shop.add.using(connection=shop.path)  # type: ignore[call-overload]
    assert not connection.in_transaction


async def test_no_engine_is_opened_for_it(shop: Shop, connection: sqlite3.Connection) -> None:
    shop.add.using(connection=connection).enqueue(1)
    connection.commit()
    assert not shop.app._access.is_open


def test_redis_cannot_and_names_the_outbox() -> None:
    app = Penstock("redis://127.0.0.1:1")

    @app.task
    def plain() -> None: ...

    connection = sqlite3.connect(":memory:")
    with pytest.raises(NotSupported, match="outbox="):
        plain.using(connection=connection).enqueue()
    connection.close()


async def test_in_a_sandbox_the_job_is_there_at_once_whatever_the_connection_is_to(shop: Shop) -> None:
    connection = sqlite3.connect(":memory:")
    async with sandbox(shop.app) as box:
        shop.add.using(connection=connection).enqueue(1)
        await shop.add.using(connection=connection).aenqueue(2)
        assert await box.adrain() == 2
        async with aiosqlite.connect(":memory:") as awaited:
            await shop.add.using(connection=awaited).aenqueue(3)
        await box.aassert_enqueued(shop.add, a=3)
    connection.close()


def test_in_a_sandbox_without_a_loop_too(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "jobs.db")
    connection = sqlite3.connect(":memory:")
    with sandbox(shop.app) as box:
        shop.add.using(connection=connection).enqueue(1)
        assert box.drain() == 1
    connection.close()
