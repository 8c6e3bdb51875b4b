"""ctx.transaction(connection): a user's connection, of any kind, is committed together with the job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conftest import lent as lent_place
from conftest import make_place
from lent_kit import KINDS, Kind, User
from penstock import Context, LeaseLost, State, SyncContext
from penstock.engine import EffectFilter, Settlement
from penstock.model.clock import FakeClock
from penstock.model.outcome import Snoozed
from transactions.shop import Shop, driven

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.dialect} {kind.name}")
every_sync_kind = pytest.mark.parametrize(
    "kind", [k for k in KINDS if not k.is_async], ids=lambda kind: f"{kind.dialect} {kind.name}"
)


@pytest.fixture
async def shop(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Shop]:
    place = make_place("sqlite" if kind.dialect == "sqlite" else "postgres", tmp_path, request)
    with lent_place(place) as found:
        shop = Shop(found, clock)
        await shop.app.migrate()
        async with shop.app:
            await shop.make_table()
            yield shop
            await shop.drop_table()


def charged_by(shop: Shop, user: User, ends: Any = None) -> Any:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction(user.raw) as tx:
            assert tx.connection is user.raw
            assert await ctx.once("charge") is True
            await user.execute(f"insert into charges values ({n})")
            assert await ctx.once("charge", connection=user.raw) is False
            tx.set_result(n)
            if ends is not None:
                await ends(ctx)

    return do


@every_kind
async def test_its_commit_completes_the_job(kind: Kind, shop: Shop) -> None:
    async with kind.open(shop.place.address) as user:
        shop.do = charged_by(shop, user)
        job = await shop.pay.aenqueue()
        await shop.run()
        assert shop.errors == []
    found = await shop.look(job.id)
    assert (found.state, found.result_json) == (State.COMPLETED, "7")
    assert await shop.charges() == [7]
    assert len(await shop.app.engine.effects(EffectFilter(), 10)) == 1


@every_kind
async def test_an_error_inside_undoes_everything(kind: Kind, shop: Shop) -> None:
    async def fails(ctx: Context) -> None:
        if ctx.attempt == 1:
            raise ValueError("oops")

    async with kind.open(shop.place.address) as user:
        shop.do = charged_by(shop, user, fails)
        job = await shop.pay.aenqueue()
        await shop.run()
    assert [type(error) for error in shop.errors] == [ValueError]
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@every_kind
async def test_a_job_that_has_passed_on_undoes_everything(kind: Kind, shop: Shop) -> None:
    async with kind.open(shop.place.address) as user:

        async def do(ctx: Context, n: int) -> None:
            if ctx.attempt == 1:
                [run] = worker.executor.running.values()
                end = Settlement(run.claim.id, run.claim.token, Snoozed(60, "later"))
                await shop.app.engine.settle([end])
            await charged_by(shop, user)(ctx, n)

        shop.do = do
        job = await shop.pay.aenqueue()
        worker = await shop.begin(slots=1)
        await worker.run(burst=True)
        assert [type(error) for error in shop.errors] == [LeaseLost]
    assert await shop.charges() == []
    assert await shop.app.engine.effects(EffectFilter(), 10) == []
    assert (await shop.look(job.id)).state is State.DELAYED


@every_sync_kind
async def test_a_handler_in_a_thread_lends_a_connection_of_its_own(kind: Kind, shop: Shop) -> None:
    def do(ctx: SyncContext, n: int) -> None:
        raw, close = driven(kind.connect(shop.place.address))
        user = kind.user(raw)
        try:
            with ctx.transaction(raw):
                assert ctx.once("charge") is True
                driven(user.execute(f"insert into charges values ({n})"))
                if ctx.attempt == 1:
                    raise ValueError("oops")
        finally:
            close()

    shop.do = do
    job = await shop.pay_sync.aenqueue()
    await shop.run()
    assert [type(error) for error in shop.errors] == [ValueError]
    assert ((await shop.look(job.id)).state, await shop.charges()) == (State.COMPLETED, [7])


@pytest.mark.parametrize(
    "kind",
    [k for k in KINDS if not {"asyncpg", "django", "autocommit"} & set(k.name.split())],  # no such call
    ids=lambda kind: f"{kind.dialect} {kind.name}",
)
async def test_a_commit_inside_the_block_is_noticed_and_the_job_is_not_run_again(
    kind: Kind, shop: Shop
) -> None:
    async with kind.open(shop.place.address) as user:

        async def do(ctx: Context, n: int) -> None:
            async with ctx.transaction(user.raw):
                await user.execute(f"insert into charges values ({n})")
                await user.commit()
                if n == 1:
                    raise RuntimeError("after it")
                await user.execute("insert into charges values (99)")

        shop.do = do
        for n in (1, 2):
            job = await shop.pay.aenqueue(n)
            await shop.run()
            assert (await job.arefresh()).state is State.FAILED
        assert await shop.charges() == [1, 2]


@every_kind
async def test_an_error_in_the_block_is_told_as_it_was(kind: Kind, shop: Shop) -> None:
    async with kind.open(shop.place.address) as user:

        async def do(ctx: Context, n: int) -> None:
            async with ctx.transaction(user.raw):
                await user.execute(f"insert into charges values ({n})")
                if ctx.attempt == 1:
                    await user.execute("insert into nowhere values (1)")

        shop.do = do
        job = await shop.pay.aenqueue(7)
        await shop.run()
        assert (await job.arefresh()).state is State.COMPLETED
        assert await shop.charges() == [7]


async def test_inside_the_block_asyncpg_has_its_own_savepoints(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> None:
    kind = next(k for k in KINDS if k.name == "asyncpg")
    place = make_place("postgres", tmp_path, request)
    with lent_place(place) as found:
        shop = Shop(found, clock)
        await shop.app.migrate()
        async with shop.app, kind.open(shop.place.address) as user:
            await shop.make_table()

            async def do(ctx: Context, n: int) -> None:
                async with ctx.transaction(user.raw), user.raw.transaction():
                    await user.execute(f"insert into charges values ({n})")

            shop.do = do
            job = await shop.pay.aenqueue(7)
            await shop.run()
            assert (await job.arefresh()).state is State.COMPLETED
            assert await shop.charges() == [7]
            await shop.drop_table()
