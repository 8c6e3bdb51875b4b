"""A shop whose handlers wait for the test's word, and a worker for it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

import pytest
from runtime_kit import make_app, make_worker

from penstock import Context, NoOp, RateLimited, Retry, Snooze, SyncContext, Unrecoverable
from penstock.model.job import Job
from penstock.runtime.worker import Worker

SIGNALS: dict[str, Exception] = {
    "later": Snooze(60),
    "no": NoOp("gone"),
    "never": Unrecoverable("no"),
    "slow": RateLimited(5),
}


class Shop:
    """An app whose handlers wait for the test's word."""

    def __init__(self) -> None:
        self.app = app = make_app()
        self.began = threading.Event()
        self.go = threading.Event()
        self.seen: list[object] = []
        self.loops: set[asyncio.Task[None]] = set()

        @app.task(retry=Retry.fixed(2, 0.0))
        async def wait(ctx: Context) -> str:
            self.began.set()
            while not self.go.is_set():
                await asyncio.sleep(0.001)
            return ctx.key

        @app.task
        def block(ctx: SyncContext) -> str:
            self.began.set()
            while not self.go.wait(0.001):
                if ctx.cancelled:
                    raise RuntimeError("told to stop")
            return "done"

        @app.task
        async def cancel_loops() -> None:
            for loop in self.loops:
                loop.cancel()

        @app.task(timeout=0.01, retry="none")
        def overrun() -> None:
            self.began.set()
            self.go.wait(10)

        @app.task(timeout=600, retry="none")
        def hung() -> None:
            self.began.set()
            self.go.wait(20)

        @app.task(timeout=0.01, retry="none")
        async def late() -> None:
            await asyncio.Event().wait()

        @app.task(timeout=0.01, retry="none")
        async def stubborn() -> None:
            while not self.go.is_set():
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    self.seen.append("cancelled")

        @app.task
        async def say(ctx: Context, what: str) -> str:
            await ctx.progress(50, what)
            self.seen.append((ctx.attempt, ctx.deadline is not None, ctx.lease_lost, ctx.job.task))
            raise SIGNALS[what]

        @app.task
        def tell(ctx: SyncContext) -> str:
            ctx.progress(30, "on the way")
            return "told"

        @app.task
        async def tell_async(ctx: Context) -> str:
            await ctx.progress(30, "on the way")
            return "told"

        @app.task
        def fork() -> int:
            return os.fork()

        @app.task
        async def fork_async() -> int:
            return os.fork()

        @app.task(execute="process", retry="none")
        def apart() -> None: ...

        @app.task
        async def huge() -> str:
            return "x" * 300_000

    async def job(self, job_id: str) -> Job:
        job = await self.app.engine.get(job_id)
        assert job is not None
        return job


@pytest.fixture(name="shop")
async def open_shop() -> AsyncIterator[Shop]:
    made = Shop()
    async with made.app:
        yield made
        made.go.set()


async def begin(shop: Shop, **wishes: object) -> Worker:
    worker = make_worker(shop.app, **wishes)
    await shop.app.engine.register(worker.info(), 60.0)
    return worker


async def set_(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 20)
