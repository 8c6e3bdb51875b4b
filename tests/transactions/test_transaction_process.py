"""ctx.transaction() in a process of its own: the child has its own connection, and the worker is told."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conftest import lent as lent_place
from conftest import make_place
from penstock import Penstock, State
from penstock.tasks.loading import load_app
from transactions.shop import Shop, url_of

APP = """
import asyncio, os, time
from penstock import Context, Penstock, Retry, SyncContext

app = Penstock(os.environ["SHOP_URL"], schema=os.environ["SHOP_SCHEMA"] or None)
INSERT = "insert into charges values (%s)" if "postgres" in app.url else "insert into charges values (?)"

@app.task(execute="process", retry=Retry.immediate(2))
def pay(ctx: SyncContext, n: int, fails: int = 0) -> None:
    with ctx.transaction() as tx:
        assert ctx.once("charge")
        tx.execute(INSERT, (n,))
        ctx.enqueue(mail.call())
        tx.set_result(os.getpid())
        if ctx.attempt <= fails:
            raise ValueError("oops")

@app.task(execute="process", retry=Retry.immediate(2))
async def pay_async(ctx: Context, n: int, fails: int = 0) -> None:
    async with ctx.transaction() as tx:
        assert await ctx.once("charge")
        await tx.execute(INSERT, (n,))
        ctx.enqueue(mail.call())
        tx.set_result(os.getpid())
        if ctx.attempt <= fails:
            raise ValueError("oops")

@app.task(execute="process", retry=Retry.immediate(2))
def dies_after(ctx: SyncContext, n: int) -> None:
    with ctx.transaction() as tx:
        tx.execute(INSERT, (n,))
    os.kill(os.getpid(), 9)

@app.task(execute="process", retry=Retry.immediate(2))
def dies_inside(ctx: SyncContext, n: int) -> None:
    with ctx.transaction() as tx:
        tx.execute(INSERT, (n,))
        if ctx.job.crashes == 0:
            os.kill(os.getpid(), 9)

@app.task(execute="process", retry=Retry.immediate(2), timeout=5)
def hangs(ctx: SyncContext, n: int) -> None:
    with ctx.transaction() as tx:
        tx.execute(INSERT, (n,))
        if ctx.attempt == 1:
            time.sleep(60)

@app.task(execute="process", retry="none")
def raises_after(ctx: SyncContext, n: int) -> str:
    with ctx.transaction() as tx:
        tx.execute(INSERT, (n,))
    raise ValueError("too late")

@app.task
def mail() -> None: ...
"""


class Children(Shop):
    """A shop whose handlers run in processes of their own."""

    def __init__(self, app: Penstock, ref: str) -> None:
        self.app = app
        self.ref = ref

    async def of(self, task: str, **args: Any) -> Any:
        job = await self.app.tasks[task].aenqueue(n=7, **args)
        await self.run(app_ref=self.ref)
        return await self.look(job.id)


@pytest.fixture(params=["sqlite", "postgres"])
async def children(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Children]:
    path = tmp_path / "shop_of_children.py"
    path.write_text(APP)
    with lent_place(make_place(request.param, tmp_path, request)) as place:
        monkeypatch.setenv("SHOP_URL", url_of(place))
        monkeypatch.setenv("SHOP_SCHEMA", place.schema)
        app: Penstock = load_app(f"{path}:app")
        await app.migrate()
        shop = Children(app, f"{path}:app")
        async with app:
            await shop.make_table()
            yield shop
            await shop.drop_table()


@pytest.mark.parametrize("task", ["pay", "pay_async"])
@pytest.mark.parametrize("fails", [0, 1])
async def test_a_child_commits_its_work_together_with_its_end(
    children: Children, task: str, fails: int
) -> None:
    job = await children.of(task, fails=fails)
    assert (job.state, job.attempt) == (State.COMPLETED, fails + 1)
    assert int(job.result_json) != os.getpid()
    assert await children.charges() == [7]
    [queue] = await children.app.engine.queues()
    assert queue.counts[State.COMPLETED] == 2


async def test_a_child_that_dies_after_its_commit_has_done_its_work(
    children: Children, caplog: pytest.LogCaptureFixture
) -> None:
    job = await children.of("dies_after")
    assert (job.state, job.crashes, job.errors) == (State.COMPLETED, 0, [])
    assert "settlement refused" not in caplog.text
    assert await children.charges() == [7]


async def test_a_child_that_dies_inside_has_done_nothing(children: Children) -> None:
    job = await children.of("dies_inside")
    assert (job.state, job.crashes) == (State.COMPLETED, 1)
    assert await children.charges() == [7]


async def test_a_child_that_is_killed_for_its_timeout_has_done_nothing(children: Children) -> None:
    job = await children.of("hangs")
    assert (job.state, [error["type"] for error in job.errors]) == (State.COMPLETED, ["JobTimeout"])
    assert await children.charges() == [7]


async def test_an_error_of_a_child_after_its_commit_changes_nothing(children: Children) -> None:
    job = await children.of("raises_after")
    assert (job.state, job.errors) == (State.COMPLETED, [])
    assert await children.charges() == [7]
