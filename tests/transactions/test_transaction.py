"""ctx.transaction(): the work and the end of its run are committed together, or neither is."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from penstock import Context, InvalidOption, LeaseLost, NoOp, Retry, State, SyncContext
from penstock.engine import EffectFilter, Settlement
from penstock.model.outcome import Released
from penstock.runtime.running import Stop
from transactions.shop import Shop, driven

KINDS = ("async", "sync")
both = pytest.mark.parametrize("kind", KINDS)


class Handler:
    """The same handler for both kinds: `body` is written once, and awaits what gives something to await."""

    def __init__(self, shop: Shop, kind: str) -> None:
        self.shop = shop
        self.kind = kind
        self.task = shop.pay if kind == "async" else shop.pay_sync

    async def run(self, body: Any, after: Any = None, **wishes: Any) -> Any:
        """The end of a job whose transaction is `body`, and what comes afterwards `after`."""

        async def do(ctx: Context, n: int) -> Any:
            async with ctx.transaction() as tx:
                await _awaited(body(ctx, tx, n))
            return await _awaited(after(ctx)) if after else None

        def do_sync(ctx: SyncContext, n: int) -> Any:
            with ctx.transaction() as tx:
                driven(body(ctx, tx, n))
            return driven(after(ctx)) if after else None

        self.shop.do = do if self.kind == "async" else do_sync
        job = await self.task.aenqueue()
        await self.shop.run(**wishes)
        return await self.shop.look(job.id)


async def _awaited(made: Any) -> Any:
    return await made if asyncio.iscoroutine(made) else made


async def ready(value: Any) -> Any:
    """What a sync context gives at once and an async one when awaited."""
    return await value if asyncio.iscoroutine(value) else value


@pytest.fixture(params=KINDS)
def handler(shop: Shop, request: pytest.FixtureRequest) -> Handler:
    return Handler(shop, request.param)


async def test_the_work_and_the_end_of_its_run_are_one(shop: Shop, handler: Handler) -> None:
    async def charge(_: Any, tx: Any, n: int) -> None:
        cursor = await ready(tx.execute(shop.insert, (n,)))
        assert cursor.rowcount == 1
        found = await ready(tx.execute("select n from charges"))
        assert [tuple(row) for row in await ready(found.fetchall())] == [(n,)]
        tx.set_result({"charged": n})

    job = await handler.run(charge)
    assert (job.state, job.result_json, job.attempt) == (State.COMPLETED, '{"charged":7}', 1)
    assert await shop.charges() == [7]
    assert shop.errors == []


async def test_a_run_that_settled_itself_frees_its_slot_and_is_settled_once(
    shop: Shop, handler: Handler
) -> None:
    calls: list[Any] = []
    settle = shop.app.engine.settle

    async def watched(ends: Any, *args: Any, **more: Any) -> Any:
        calls.extend(ends)
        return await settle(ends, *args, **more)

    shop.app.engine.settle = watched  # type: ignore[method-assign]

    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))

    shop.do = do if handler.kind == "async" else do_sync
    for n in range(5):
        await handler.task.aenqueue(n=n)
    worker = await shop.run(slots=1)
    assert (worker.settled, calls, worker.executor.running) == (5, [], {})
    assert worker.board.begun() == frozenset()
    assert await shop.charges() == [0, 1, 2, 3, 4]


async def test_an_error_in_the_block_undoes_the_work_and_fails_the_run(shop: Shop, handler: Handler) -> None:
    async def charge(ctx: Any, tx: Any, n: int) -> None:
        await ready(tx.execute(shop.insert, (n,)))
        if ctx.attempt < 3:
            raise ValueError("oops")

    job = await handler.run(charge)
    assert (job.state, job.attempt) == (State.COMPLETED, 3)
    assert [error["type"] for error in job.errors] == ["ValueError", "ValueError"]
    assert await shop.charges() == [7]


@pytest.mark.parametrize("statement", ["commit", "ROLLBACK", "begin", " end ", "/* now */ commit;"])
async def test_a_statement_that_would_end_the_transaction_is_refused_and_nothing_is_kept(
    shop: Shop, handler: Handler, statement: str
) -> None:
    async def charge(_: Any, tx: Any, n: int) -> None:
        await ready(tx.execute(shop.insert, (n,)))
        await ready(tx.execute(statement))
        await ready(tx.execute(shop.insert, (n + 1,)))

    job = await handler.run(charge)
    assert (job.state, job.attempt) == (State.FAILED, 1)
    assert [error["type"] for error in job.errors] == ["InvalidOption"]
    assert "when the block ends" in str(shop.errors)
    assert await shop.charges() == []


async def test_savepoints_undo_a_part_of_the_work(shop: Shop, handler: Handler) -> None:
    async def charge(_: Any, tx: Any, n: int) -> None:
        for statement in ("savepoint here", shop.insert, "rollback to savepoint here", "release here"):
            await ready(tx.execute(statement, (n,) if statement == shop.insert else ()))
        with pytest.raises(InvalidOption):
            await ready(tx.connection.execute("commit"))
        await ready(tx.execute(shop.insert, (n + 1,)))

    job = await handler.run(charge)
    assert (job.state, await shop.charges(), shop.errors) == (State.COMPLETED, [8], [])


async def test_a_signal_in_the_block_means_what_it_always_means(shop: Shop, handler: Handler) -> None:
    async def charge(_: Any, tx: Any, n: int) -> None:
        await ready(tx.execute(shop.insert, (n,)))
        raise NoOp("paid already")

    job = await handler.run(charge)
    assert (job.state, job.note) == (State.COMPLETED, "no-op: paid already")
    assert await shop.charges() == []


async def test_an_error_after_the_commit_is_logged_and_changes_nothing(
    shop: Shop, handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: Any) -> None:
        raise ValueError("too late")

    with caplog.at_level(logging.WARNING, "penstock.worker"):
        job = await handler.run(lambda _c, tx, n: ready(tx.execute(shop.insert, (n,))), fails)
    assert (job.state, job.attempt, job.errors) == (State.COMPLETED, 1, [])
    [record] = [r for r in caplog.records if "after its transaction" in r.message]
    assert "too late" in record.getMessage()
    assert await shop.charges() == [7]


async def test_what_is_returned_after_the_commit_is_not_stored_and_that_is_said(
    shop: Shop, handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        job = await handler.run(lambda *_: None, lambda _: "a result")
    assert (job.state, job.result_json) == (State.COMPLETED, None)
    assert any("set_result" in record.message for record in caplog.records)


async def test_where_the_result_was_set_what_is_returned_is_not_looked_at(
    shop: Shop, handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        job = await handler.run(lambda _c, tx, _n: tx.set_result("set"), lambda _: "returned")
    assert (job.state, job.result_json, caplog.records) == (State.COMPLETED, '"set"', [])


async def test_a_result_that_cannot_be_kept_does_not_undo_the_work(shop: Shop, handler: Handler) -> None:
    async def charge(_: Any, tx: Any, n: int) -> None:
        await ready(tx.execute(shop.insert, (n,)))
        tx.set_result("x" * 10_000_000)

    job = await handler.run(charge)
    assert (job.state, job.result_json) == (State.COMPLETED, None)
    assert "result dropped" in (job.note or "")
    assert await shop.charges() == [7]


async def test_an_attempt_has_one_transaction(shop: Shop, handler: Handler) -> None:
    job = await handler.run(lambda ctx, _tx, _n: ctx.transaction())
    assert (job.state, job.errors[-1]["type"]) == (State.FAILED, "InvalidOption")
    assert "one ctx.transaction()" in job.errors[-1]["message"]


async def test_jobs_that_follow_come_with_the_commit_and_none_after_it(shop: Shop, handler: Handler) -> None:
    async def charge(ctx: Any, _: Any, n: int) -> None:
        ctx.enqueue(shop.mail.call(n=n))
        if ctx.attempt == 1:
            raise ValueError("oops")

    refused: list[Any] = []

    def after(ctx: Any) -> None:
        with pytest.raises(InvalidOption, match="inside the transaction"):
            ctx.enqueue(shop.mail.call(n=99))
        refused.append(ctx)

    job = await handler.run(charge, after)
    assert (job.attempt, len(refused)) == (2, 1)
    [queue] = await shop.app.engine.queues()
    assert queue.counts[State.COMPLETED] == 2


async def test_who_settled_it_looks_for_its_followers_at_once(shop: Shop, handler: Handler) -> None:
    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction():
            ctx.enqueue(shop.mail.call(n=n))

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction():
            ctx.enqueue(shop.mail.call(n=n))

    shop.do = do if handler.kind == "async" else do_sync
    await handler.task.aenqueue()
    worker = await shop.begin()
    await worker.run(burst=True)
    assert worker.settled == 2


async def test_a_job_enqueued_on_the_same_connection_is_part_of_it(shop: Shop, handler: Handler) -> None:
    made: list[str] = []

    async def charge(ctx: Any, tx: Any, n: int) -> None:
        to_mail = shop.mail.using(connection=tx.connection)
        made.append((await to_mail.aenqueue(n=n)).id)
        if ctx.attempt == 1:
            raise ValueError("oops")

    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await charge(ctx, tx, n)

    def do_sync(ctx: SyncContext, n: int) -> None:
        with ctx.transaction() as tx:
            made.append(shop.mail.using(connection=tx.connection).enqueue(n=n).id)
            if ctx.attempt == 1:
                raise ValueError("oops")

    shop.do = do if handler.kind == "async" else do_sync
    await handler.task.aenqueue()
    await shop.run()
    first, second = made
    assert await shop.app.engine.get(first) is None
    assert (await shop.look(second)).state is State.COMPLETED


@both
async def test_a_lease_lost_meanwhile_aborts_it(shop: Shop, kind: str) -> None:
    handler = Handler(shop, kind)
    reached, go = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def do(ctx: Context, n: int) -> None:
        if ctx.attempt == 1:
            reached.set()
            await go.wait()
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))

    def do_sync(ctx: SyncContext, n: int) -> None:
        if ctx.attempt == 1:
            loop.call_soon_threadsafe(reached.set)
            asyncio.run_coroutine_threadsafe(go.wait(), loop).result()
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))

    shop.do = do if kind == "async" else do_sync
    job = await handler.task.aenqueue()
    first, second = await shop.begin(slots=1), await shop.begin()
    running = asyncio.create_task(first.run(burst=True))
    await reached.wait()
    [run] = first.executor.running.values()
    await shop.app.engine.settle([Settlement(job.id, run.claim.token, Released())])
    [claim] = (await shop.app.engine.claim(second._pump._want())).claims  # type: ignore[arg-type]
    assert claim.id == job.id
    go.set()
    await running
    assert [type(error) for error in shop.errors] == [LeaseLost]
    assert await shop.charges() == []
    assert (await shop.look(job.id)).state is State.ACTIVE


async def test_a_thread_that_overran_its_timeout_commits_nothing(shop: Shop) -> None:
    given_up = threading.Event()

    def do(ctx: SyncContext, n: int) -> None:
        assert given_up.wait(30)
        with ctx.transaction() as tx:
            tx.execute(shop.insert, (n,))

    shop.do = do
    job = await shop.pay_sync.using(timeout=0.2, retry=Retry.fixed(2, 60)).aenqueue()
    await shop.run()  # the run is settled, while its thread goes on
    assert (await shop.look(job.id)).state is State.DELAYED
    given_up.set()
    while not shop.errors:
        await asyncio.sleep(0.01)
    assert [type(error) for error in shop.errors] == [LeaseLost]
    assert await shop.charges() == []


async def test_cancelled_inside_the_block_nothing_stays(shop: Shop) -> None:
    reached = asyncio.Event()

    async def do(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(shop.insert, (n,))
            reached.set()
            await asyncio.Event().wait()

    shop.do = do
    job = await shop.pay.aenqueue()
    worker = await shop.begin()
    running = asyncio.create_task(worker.run(burst=True))
    await reached.wait()
    [run] = worker.executor.running.values()
    worker.executor.stop(run, Stop.CANCEL)
    await running
    assert (await shop.look(job.id)).state is State.CANCELLED
    assert await shop.charges() == []


async def test_cancelled_while_it_commits_it_is_committed(shop: Shop) -> None:
    """The end is awaited: nobody is told that it was cancelled when it was done."""

    async def do(ctx: Context, n: int) -> None:
        tx = ctx.transaction()
        finish = tx._finish

        async def stopped_meanwhile() -> None:
            [run] = worker.executor.running.values()
            worker.executor.stop(run, Stop.TIMEOUT)
            await finish()

        tx._finish = stopped_meanwhile  # type: ignore[method-assign]
        async with tx:
            await tx.execute(shop.insert, (n,))
        await asyncio.sleep(0)

    shop.do = do
    job = await shop.pay.aenqueue()
    worker = await shop.begin()
    await worker.run(burst=True)
    assert [type(error) for error in shop.errors] == [asyncio.CancelledError]
    assert (await shop.look(job.id)).state is State.COMPLETED
    assert await shop.charges() == [7]


async def test_cancelled_twice_while_it_commits_it_is_neither_undone_nor_left_half_way(shop: Shop) -> None:
    done: list[str] = []

    async def do(ctx: Context, n: int) -> None:
        tx = ctx.transaction()
        finish, undo = tx._finish, tx._undo
        me = asyncio.current_task()
        assert me is not None

        async def cancelled_twice() -> None:
            for _ in range(2):
                me.cancel()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            await finish()
            done.append("finished")

        async def watched() -> None:
            done.append("undone")
            await undo()

        tx._finish, tx._undo = cancelled_twice, watched  # type: ignore[method-assign]
        async with tx:
            await tx.execute(shop.insert, (n,))

    shop.do = do
    job = await shop.pay.aenqueue()
    worker = await shop.begin()
    await worker.run(burst=True)
    assert done == ["finished"]
    assert (await shop.look(job.id)).state is State.COMPLETED
    assert await shop.charges() == [7]


async def test_steps_and_sleeps_belong_before_it(shop: Shop, handler: Handler) -> None:
    async def charge(ctx: Any, _: Any, _n: int) -> None:
        for verb in (lambda: ctx.step("price", int), lambda: ctx.sleep(5)):
            with pytest.raises(InvalidOption, match=r"before ctx\.transaction"):
                await ready(verb())
        await ready(ctx.progress(50))

    job = await handler.run(charge)
    assert (job.state, job.progress) == (State.COMPLETED, None)


# -- once -------------------------------------------------------------------------------------------
async def test_an_effect_is_made_once_over_all_runs_of_a_key(shop: Shop, handler: Handler) -> None:
    said: list[bool] = []

    async def charge(ctx: Any, tx: Any, n: int) -> None:
        said.append(await ready(ctx.once("charge")))
        if said[-1]:
            await ready(tx.execute(shop.insert, (n,)))
        if len(said) == 1:
            raise ValueError("oops")
        said.append(await ready(ctx.once("charge", connection=tx.connection)))

    job = await handler.run(charge)
    assert (job.state, said) == (State.COMPLETED, [True, True, False])
    assert await shop.charges() == [7]
    [found] = await shop.app.engine.effects(EffectFilter(), 10)
    assert (found.task, found.key, found.name, found.job_id) == (job.task, job.id, "charge", job.id)


async def test_outside_a_transaction_once_says_why_it_needs_one(shop: Shop, handler: Handler) -> None:
    async def do(ctx: Context, _: int) -> None:
        await ctx.once("charge")

    shop.do = do if handler.kind == "async" else lambda ctx, _: ctx.once("charge")
    job = await handler.task.aenqueue()
    await shop.run()
    found = await shop.look(job.id)
    assert found.state is State.FAILED
    assert "would be a lost effect" in found.errors[-1]["message"]


async def test_the_key_for_a_provider_is_the_same_in_every_attempt(shop: Shop, handler: Handler) -> None:
    keys: list[tuple[str, str]] = []

    async def charge(ctx: Any, _: Any, _n: int) -> None:
        keys.append((ctx.key_for("stripe"), ctx.key_for("paypal")))
        if len(keys) < 3:
            raise ValueError("oops")

    await handler.run(charge)
    assert (len(keys), len(set(keys))) == (3, 1)
    assert keys[0][0] != keys[0][1]
