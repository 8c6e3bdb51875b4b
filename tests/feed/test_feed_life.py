"""A job's life as it is told, on every engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from conftest import lent, make_place, no_leaks
from feed.kit import PATIENCE
from penstock import Context, Penstock, Retry, Snooze
from penstock.feed.subscription import Happened, Subscription

SECRET = "hunter2"


@pytest.fixture(params=["sqlite", "memory", "postgres", "redis", "redis+ledger"])
async def app(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Penstock]:
    monkeypatch.setenv("PENSTOCK_ACCEPT_UNSAFE", "persistence")
    kind, _, ledger = request.param.partition("+")
    with lent(make_place(kind, tmp_path, request)) as place, no_leaks():
        is_file = kind in ("sqlite", "memory")
        url = f"sqlite:///{place.address}" if is_file else place.address
        books = f"sqlite:///{tmp_path}/ledger.db" if ledger else None
        app = Penstock(url, schema=place.schema or None, ledger=books)
        declare(app)
        await app.migrate()
        async with app:
            yield app


def declare(app: Penstock) -> None:
    @app.task(retry=Retry.immediate(attempts=2))
    async def second_time_lucky(ctx: Context, password: str) -> str:
        await ctx.progress(40, "rendering")
        if ctx.attempt == 1:
            raise ValueError(password)
        return password

    @app.task(retry="none")
    def hopeless() -> None:
        raise RuntimeError(SECRET)

    @app.task
    async def not_yet(ctx: Context) -> None:
        raise Snooze(60)


async def told(app: Penstock, listener: Subscription, last: str) -> list[Happened]:
    """What is heard of the jobs as a worker runs them, up to the event of this name."""
    worker = app.worker()
    working = asyncio.create_task(worker.run())
    heard: list[Happened] = []
    async with asyncio.timeout(PATIENCE):
        while not heard or heard[-1].event.event != last:
            heard += [each for each in await listener.take(1.0) if isinstance(each, Happened)]
        worker.drain()
        await working
    return heard


async def test_a_job_is_told_in_the_order_of_its_life_without_what_it_carries(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        task = app.tasks["second_time_lucky"]
        job = await task.using(owner="ana").aenqueue(password=SECRET)
        heard = await told(app, listener, "completed")
    names = ["added", "started", "progress", "retrying", "started", "progress", "completed"]
    assert [each.event.event for each in heard] == names
    assert {(each.event.job_id, each.event.owner) for each in heard} == {(job.id, "ana")}
    data = [each.data for each in heard]
    assert [each.get("attempt") for each in data] == [None, 1, None, 1, 2, None, 2]
    assert (data[2]["percent"], data[2]["message"]) == (40, "rendering")
    assert data[3]["error"] == {"type": "ValueError", "class": "transient"}
    assert SECRET not in str(data)


async def test_a_job_that_fails_is_told_by_the_kind_of_its_error(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        await app.tasks["hopeless"].aenqueue()
        failed = (await told(app, listener, "failed"))[-1].data
    assert failed["reason"] == "exhausted"
    assert failed["error"]["type"] == "RuntimeError"
    assert SECRET not in str(failed)


async def test_a_run_that_is_put_off_is_told_with_the_time(app: Penstock) -> None:
    async with app.feed.subscribe() as listener:
        await app.tasks["not_yet"].aenqueue()
        put_off = (await told(app, listener, "retrying"))[-1].data
    assert (put_off["snoozed"], put_off["next_in"]) == (True, 60.0)


async def test_while_nobody_listens_nothing_is_told(app: Penstock) -> None:
    before = (await app.engine.feed(None, 1)).cursor
    await app.tasks["second_time_lucky"].aenqueue(password="x")
    await app.worker().run(burst=True)
    assert (await app.engine.feed(None, 1)).cursor == before
