"""A pump over an engine that fails on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from runtime_kit import Flaky, make_app, make_worker

from penstock import Context, Penstock, State
from penstock.runtime.worker import Worker


@pytest.fixture(name="app")
async def pump_app() -> AsyncIterator[Penstock]:
    made = make_app()
    made.queue("narrow", concurrency=1)

    @made.task
    async def hello(ctx: Context, n: int = 0) -> int:
        return n

    @made.task(queue="narrow")
    async def held() -> None:
        await asyncio.Event().wait()

    async with made:
        yield made


async def begin(app: Penstock, **wishes: object) -> tuple[Worker, Flaky]:
    engine = Flaky(app.engine)
    worker = make_worker(app, engine, **wishes)
    await app.engine.register(worker.info(), 60.0)
    return worker, engine


async def until_ended(worker: Worker) -> None:
    while worker.executor.running:
        await asyncio.sleep(0)


async def state(app: Penstock, job_id: str) -> State:
    job = await app.engine.get(job_id)
    assert job is not None
    return job.state


async def ran_one(app: Penstock) -> tuple[str, Worker, Flaky]:
    """One job that was claimed and has ended; it is not settled yet."""
    job = await app.tasks["hello"].aenqueue(n=1)
    worker, engine = await begin(app)
    await worker._pump.round()
    await until_ended(worker)
    return job.id, worker, engine
