"""ctx.enqueue: what a run enqueues is put in with its completion, or not at all."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from runtime_kit import make_worker

from penstock import (
    Context,
    Disabled,
    InvalidOption,
    NoOp,
    Penstock,
    RateLimited,
    Retry,
    Snooze,
    State,
    SyncContext,
    Unrecoverable,
)
from penstock.runtime import running
from penstock.tasks.loading import load_app
from penstock.testing import sandbox

ENDS: dict[str, Exception] = {
    "unrecoverable": Unrecoverable("no credit"),
    "snooze": Snooze(60),
    "limited": RateLimited(60),
    "error": ValueError("oops"),
    "noop": NoOp("nothing to do"),
}


class Pages:
    """An app that fetches page after page, by itself."""

    def __init__(self) -> None:
        self.app = app = Penstock("sqlite://:memory:")
        self.open = True

        @app.task(key="page:{n}", retry=Retry.fixed(2, 5.0))
        async def fetch(ctx: Context, n: int, end: str = "", last: int = 3) -> int:
            if n < last:
                ctx.enqueue(fetch.call(n=n + 1, end=end, last=last))
            if n == last and end:
                ctx.enqueue(fetch.call(n=n + 1, last=n + 1))
                raise ENDS[end]
            return n

        @app.task
        def fetch_sync(ctx: SyncContext, n: int) -> int:
            for follower in range(n):
                ctx.enqueue(fetch_sync.using(delay=60, owner="ana").call(n=follower))
            return n

        @app.task
        async def wrong(ctx: Context, what: str) -> None:
            call: Any = {
                "other app": lambda: Pages().fetch.call(n=1),
                "gated": gated.call,
            }[what]()
            ctx.enqueue(call)

        @app.task
        async def twice(ctx: Context) -> None:
            call = fetch_sync.call(n=0)
            ctx.enqueue(call)
            ctx.enqueue(call)

        @app.task(retry="none")
        async def many(ctx: Context) -> None:
            for _ in range(running.MAX_FOLLOWERS + 1):
                ctx.enqueue(fetch_sync.call(n=0))

        @app.task(enabled=lambda: self.open)
        async def gated() -> None: ...

        self.fetch, self.fetch_sync, self.wrong, self.twice, self.many = fetch, fetch_sync, wrong, twice, many


@pytest.fixture
def pages() -> Pages:
    return Pages()


async def test_a_task_that_chains_itself_runs_to_its_end(pages: Pages) -> None:
    async with sandbox(pages.app) as box:
        await pages.fetch.aenqueue(n=0)
        assert await box.adrain() == 4
        jobs = await box.ajobs()
        assert [job.args["n"] for job in jobs] == [0, 1, 2, 3]
        assert {job.state for job in jobs} == {State.COMPLETED}


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("unrecoverable", State.FAILED),
        ("snooze", State.DELAYED),
        ("limited", State.DELAYED),
        ("error", State.DELAYED),
    ],
)
async def test_a_run_that_does_not_complete_enqueues_nothing(pages: Pages, end: str, state: State) -> None:
    async with sandbox(pages.app) as box:
        await pages.fetch.aenqueue(n=2, end=end)
        await box.adrain()
        assert [(job.args["n"], job.state) for job in await box.ajobs()] == [(2, State.COMPLETED), (3, state)]


async def test_a_chain_stops_dead_on_unrecoverable(pages: Pages) -> None:
    async with sandbox(pages.app) as box:
        await pages.fetch.aenqueue(n=0, end="unrecoverable")
        await box.adrain(delayed=True)
        jobs = await box.ajobs()
        assert [job.args["n"] for job in jobs] == [0, 1, 2, 3]
        assert jobs[-1].state is State.FAILED


async def test_a_run_that_found_nothing_to_do_has_completed(pages: Pages) -> None:
    async with sandbox(pages.app) as box:
        await pages.fetch.aenqueue(n=3, end="noop")
        await box.adrain()
        assert [job.args["n"] for job in await box.ajobs()] == [3, 4]


async def test_a_retry_enqueues_once(pages: Pages) -> None:
    app = pages.app

    @app.task(retry=Retry.fixed(3, 0.0))
    async def flaky(ctx: Context) -> None:
        ctx.enqueue(pages.fetch_sync.call(n=0))
        if ctx.attempt < 3:
            raise ConnectionError("away")

    async with sandbox(app) as box:
        await flaky.aenqueue()
        await box.adrain(delayed=True)
        assert len(await box.ajobs(pages.fetch_sync)) == 1


def test_sync_handlers_enqueue_with_the_options_of_the_call(pages: Pages) -> None:
    with sandbox(pages.app) as box:
        pages.fetch_sync.enqueue(n=3)
        assert box.drain() == 1
        followers = [job for job in box.jobs() if job.owner == "ana"]
        assert [(job.args["n"], job.state) for job in followers] == [(n, State.DELAYED) for n in range(3)]


async def test_a_key_that_is_taken_makes_no_second_job(pages: Pages) -> None:
    async with sandbox(pages.app) as box:
        await pages.fetch.aenqueue(n=1, last=1)
        await pages.fetch.aenqueue(n=0, last=1)
        await box.adrain()
        assert [job.args["n"] for job in await box.ajobs()] == [1, 0]


@pytest.mark.parametrize(
    ("task", "args", "error"),
    [
        ("wrong", {"what": "other app"}, InvalidOption),
        ("wrong", {"what": "gated"}, Disabled),
        ("twice", {}, InvalidOption),
        ("many", {}, InvalidOption),
    ],
)
async def test_what_cannot_be_enqueued_fails_the_run_and_says_why(
    pages: Pages, task: str, args: dict[str, str], error: type[Exception]
) -> None:
    pages.open = False
    async with sandbox(pages.app) as box:
        await pages.app.tasks[task].aenqueue(**args)
        await box.adrain()
        [job] = await box.ajobs()
        assert job.errors[0]["type"] == error.__name__


async def test_a_run_that_passed_its_timeout_enqueues_nothing(pages: Pages) -> None:
    app = pages.app

    @app.task(timeout=0.01, retry="none")
    async def slow(ctx: Context) -> None:
        ctx.enqueue(pages.fetch_sync.call(n=0))
        await asyncio.sleep(60)

    async with sandbox(app) as box:
        await slow.aenqueue()
        await box.adrain()
        [job] = await box.ajobs()
        assert (job.task, job.state) == ("slow", State.FAILED)


# -- in a process of its own --------------------------------------------------------------------------

APP = """
import os
from penstock import Penstock, SyncContext, Context

app = Penstock("sqlite://:memory:")

@app.task(execute="process", retry="none")
def chain(ctx: SyncContext, n: int) -> int:
    if n:
        ctx.enqueue(chain.using(key=f"chain-{n - 1}", unique="unfinished").call(n=n - 1))
    return os.getpid()

@app.task(execute="process", retry="none")
def dies(ctx: SyncContext) -> None:
    ctx.enqueue(chain.call(n=0))
    ctx.step("told", lambda: 1)  # the worker has heard of both
    os.kill(os.getpid(), 9)

@app.task(execute="process")
async def steps(ctx: Context) -> list[int]:
    async def pid() -> int:
        return os.getpid()

    first = await ctx.step("first", pid)
    await ctx.sleep(60)
    second = await ctx.step("second", os.getpid)
    return [first, second, len(await ctx.upstream())]
"""


@pytest.fixture
def app_of_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Penstock:
    path = tmp_path / "children_that_chain.py"
    path.write_text(APP)
    monkeypatch.setenv("PENSTOCK_APP", f"{path}:app")
    app: Penstock = load_app(f"{path}:app")
    return app


async def run_all(app: Penstock, ref: str) -> None:
    """A worker that knows where its app is, until nothing is due."""
    worker = make_worker(app, app_ref=ref)
    await app.engine.register(worker.info(), 60.0)
    await worker.run(burst=True)


async def test_a_handler_in_a_process_of_its_own_enqueues_with_its_end(app_of_children: Penstock) -> None:
    app = app_of_children
    async with sandbox(app) as box:
        await app.tasks["chain"].aenqueue(n=2)
        await run_all(app, os.environ["PENSTOCK_APP"])
        jobs = await box.ajobs()
        assert [(job.args["n"], job.state) for job in jobs] == [(n, State.COMPLETED) for n in (2, 1, 0)]
        assert os.getpid() not in {job.result for job in jobs}


async def test_what_a_process_enqueued_before_it_died_is_not_put_in(app_of_children: Penstock) -> None:
    app = app_of_children
    async with sandbox(app) as box:
        await app.tasks["dies"].aenqueue()
        await run_all(app, os.environ["PENSTOCK_APP"])
        [job] = await box.ajobs()
        assert (job.task, job.state, job.note) == ("dies", State.FAILED, "crashed")
        assert await app.engine.steps(job.id) == {"told": "1"}


async def test_steps_and_sleep_work_in_a_process_of_its_own(app_of_children: Penstock) -> None:
    app, ref = app_of_children, os.environ["PENSTOCK_APP"]
    async with sandbox(app) as box:
        job = await app.tasks["steps"].aenqueue()
        await run_all(app, ref)
        assert (await job.arefresh()).state is State.DELAYED
        first = await app.engine.steps(job.id)
        box.advance(61)
        await app.engine.stage(10)
        await run_all(app, ref)
        result = await job.aresult()
        assert str(result[0]) == first["first"]
        assert result[1] != result[0]
        assert result[2] == 0
