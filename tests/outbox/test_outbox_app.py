"""The outbox through the front door: every kind of connection, and all that can be put in on one."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lent_kit import KINDS, Kind
from outbox_kit import make_home
from penstock import (
    Context,
    InvalidArguments,
    InvalidOption,
    JobNotFound,
    Penstock,
    ResultTimeout,
    SchemaMissing,
    State,
)
from penstock.engine import JobFilter
from penstock.model.clock import EngineClock
from penstock.testing import sandbox


class Shop:
    """An app whose jobs live in one place, and whose orders in another."""

    def __init__(self, folder: Path, outbox: str) -> None:
        self.app = app = Penstock(f"sqlite:///{folder / 'jobs.db'}", outbox=outbox)

        @app.task(on="paid")
        async def add(a: int, b: int = 1) -> int:
            return a + b

        @app.task(key="receipt:{a}", on="paid")
        async def send_receipt(a: int) -> int:
            return a

        @app.task
        async def follow(ctx: Context) -> None:
            ctx.enqueue(add.using(order="line").call(1))

        self.add, self.send_receipt, self.follow = add, send_receipt, follow

    async def relay(self) -> int:
        return await self.app.relay().run(burst=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "user.db"


@pytest.fixture
async def shop(tmp_path: Path, file: Path) -> Shop:
    made = Shop(tmp_path, f"sqlite:///{file}")
    await made.app.outbox.apply()
    return made


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")
async def test_on_every_kind_of_connection_committed_jobs_run_and_others_never_were(
    kind: Kind, tmp_path: Path
) -> None:
    home = make_home(kind.dialect, tmp_path, EngineClock())
    shop = Shop(tmp_path, home.url)
    await shop.app.outbox.apply()
    address = home.url.removeprefix("sqlite:///")
    async with kind.open(address) as user:
        await user.begin()
        kept = await shop.add.using(connection=user.raw, order="line").aenqueue(1)
        await user.commit()
        await user.begin()
        gone = await shop.add.using(connection=user.raw).aenqueue(2)
        await user.rollback()
    async with shop.app:
        assert await shop.relay() == 1
        await shop.app.worker().run(burst=True)
        assert await kept.aresult(timeout=5) == 2
        with pytest.raises(JobNotFound, match="still in the outbox"):
            await gone.arefresh()


async def test_many_calls_events_and_flows_go_through_the_outbox(shop: Shop, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        many = shop.app.enqueue_many([shop.add.call(n) for n in range(10)], connection=connection)
        events = shop.app.emit("paid", {"a": 7}, connection=connection)
        flow = shop.app.flow("course")
        first = flow.add(shop.add.call(1))
        last = flow.add(shop.add.call(2), after=[first])
        tied = flow.enqueue(connection=connection)
        connection.commit()
    assert [job.state for job in (*many[:1], *events, tied[first], tied[last])] == [
        *[State.WAITING] * 4,
        State.BLOCKED,
    ]
    async with shop.app:
        assert await shop.relay() == 13
        await shop.app.worker().run(burst=True)
        assert await tied[last].aresult(timeout=5) == 3
        found = await shop.app.engine.flow(tied.id)
        assert found is not None
        assert len(found.jobs) == 2


async def test_a_job_without_a_connection_goes_straight_to_the_engine(shop: Shop) -> None:
    async with shop.app:
        job = await shop.add.aenqueue(1)
        assert (await job.arefresh()).state is State.WAITING
    assert (await shop.app.outbox.status()).waiting == 0


async def test_arguments_are_checked_before_anything_is_written(shop: Shop, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, pytest.raises(InvalidArguments):
        shop.add.using(connection=connection).enqueue("x")  # type: ignore[arg-type]
    assert (await shop.app.outbox.status()).waiting == 0


async def test_a_result_is_waited_for_while_the_job_is_in_the_outbox(shop: Shop, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        job = shop.add.using(connection=connection).enqueue(1)
        connection.commit()
    async with shop.app:
        with pytest.raises(ResultTimeout, match="has not come out of the outbox"):
            await job.aresult(timeout=0.01)
        waiting = asyncio.create_task(job.aresult(timeout=30))
        await shop.relay()
        await shop.app.worker().run(burst=True)
        assert await waiting == 2


async def test_a_job_that_was_seen_and_is_gone_is_not_waited_for(shop: Shop, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        job = shop.add.using(connection=connection).enqueue(1)
        connection.commit()
    async with shop.app:
        await shop.relay()
        waiting = asyncio.create_task(job.aresult(timeout=30))
        await asyncio.sleep(0.05)
        await shop.app.ops.cancel(job.id, "not wanted")
        await shop.app.engine.delete([job.id])
        with pytest.raises(Exception, match=r"cancelled|no record"):
            await waiting


@pytest.mark.parametrize("order", ["", 7, "x\0", "x" * 256])
def test_an_order_that_cannot_be_is_refused(shop: Shop, order: Any) -> None:
    with pytest.raises(InvalidOption, match="order"):
        shop.add.using(order=order)


async def test_an_order_is_for_the_outbox_alone(shop: Shop) -> None:
    ordered = shop.add.using(order="line")
    async with shop.app:
        with pytest.raises(InvalidOption, match="give connection= too"):
            await ordered.aenqueue(1)
        with pytest.raises(InvalidOption, match="give connection= too"):
            await shop.app.aenqueue_many([ordered.call(1)])
        job = await shop.follow.aenqueue()
        await shop.app.worker().run(burst=True)
        with pytest.raises(Exception, match="give connection= too"):
            await job.aresult(timeout=5)
    without = Penstock("sqlite://:memory:")
    with pytest.raises(InvalidOption, match="this app has none"):
        without.task(name="add")(lambda: None).using(order="line")


async def test_jobs_of_one_flow_have_one_order(shop: Shop, file: Path) -> None:
    flow = shop.app.flow("course")
    first = flow.add(shop.add.using(order="one").call(1))
    flow.add(shop.add.using(order="two").call(2), after=[first])
    with closing(sqlite3.connect(file)) as connection, pytest.raises(InvalidOption, match="one order= only"):
        flow.enqueue(connection=connection)


async def test_without_the_table_the_caller_is_told_how_to_make_it(tmp_path: Path, file: Path) -> None:
    shop = Shop(tmp_path, f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        with pytest.raises(SchemaMissing, match="penstock outbox apply"):
            shop.add.using(connection=connection).enqueue(1)
        connection.rollback()


async def test_a_connection_to_another_database_is_refused(shop: Shop, tmp_path: Path) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "other.db")) as connection,
        pytest.raises(InvalidOption, match="the database that outbox= names"),
    ):
        shop.add.using(connection=connection).enqueue(1)


async def test_in_a_sandbox_jobs_are_there_without_a_relay(shop: Shop, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        async with sandbox(shop.app) as box:
            job = await shop.add.using(connection=connection, order="line").aenqueue(1)
            await box.adrain()
            assert await job.aresult(timeout=5) == 2


async def test_a_relay_uses_the_engine_of_an_open_app_and_opens_one_for_itself_otherwise(
    shop: Shop, file: Path
) -> None:
    for n in range(2):
        with closing(sqlite3.connect(file)) as connection:
            shop.add.using(connection=connection).enqueue(n)
            connection.commit()
        if n:
            async with shop.app:
                assert await shop.relay() == 1
                assert len(await shop.app.engine.jobs(JobFilter(), 10)) == 2
        else:
            assert await shop.relay() == 1
