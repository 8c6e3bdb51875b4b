"""A shop that charges its customers: what handlers do is written down by whoever asks them to do it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from conformance.kit import Place
from penstock import Context, Job, Penstock, Retry, SyncContext
from penstock.model.clock import Clock
from penstock.runtime.board import Board
from penstock.runtime.worker import Worker

LEASE = 30.0


def url_of(place: Place) -> str:
    return {"sqlite": f"sqlite:///{place.address}", "memory": "sqlite://:memory:"}.get(
        place.kind, place.address
    )


class Shop:
    """An app with one task of each kind; `do` is what their handlers do."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self.place = place
        self.app = app = Penstock(url_of(place), schema=place.schema or None, clock=clock)
        self.mark = "%s" if place.kind == "postgres" else "?"
        self.insert = f"insert into charges values ({self.mark})"
        self.do: Callable[..., Any]
        self.errors: list[BaseException] = []

        @app.task(retry=Retry.immediate(3))
        async def pay(ctx: Context, n: int = 7) -> Any:
            try:
                return await self.do(ctx, n)
            except BaseException as error:
                self.errors.append(error)
                raise

        @app.task(retry=Retry.immediate(3))
        def pay_sync(ctx: SyncContext, n: int = 7) -> Any:
            try:
                return self.do(ctx, n)
            except BaseException as error:
                self.errors.append(error)
                raise

        @app.task
        async def mail(n: int) -> None: ...

        self.pay, self.pay_sync, self.mail = pay, pay_sync, mail

    async def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """In a transaction of its own, beside the engine's."""
        block = await self.app.transactions.own().abegin(LEASE)
        cursor = await block.execute(sql, ())
        rows = await cursor.fetchall() if cursor.description else []
        await block.commit()
        return [tuple(row) for row in rows]

    async def make_table(self) -> None:
        await self.execute("create table charges (n integer not null)")

    async def drop_table(self) -> None:
        await self.execute("drop table charges")

    async def charges(self) -> list[int]:
        return [n for (n,) in await self.execute("select n from charges order by n")]

    def worker(self, **wishes: Any) -> Worker:
        host = self.app.worker_host(**wishes)
        board = Board.private(host.options.slots, host.options.lease)
        board.beaten(time.monotonic())
        return Worker(self.app.engine, host.registry, host.options, board)

    async def begin(self, **wishes: Any) -> Worker:
        worker = self.worker(**wishes)
        await self.app.engine.register(worker.info(), LEASE)
        return worker

    async def run(self, **wishes: Any) -> Worker:
        """Work until nothing is left to do; a worker may see an empty queue just before a run comes back."""
        first = worker = await self.begin(**wishes)
        await worker.run(burst=True)
        while worker.settled:
            worker = await self.begin(**wishes)
            await worker.run(burst=True)
        return first

    async def look(self, job_id: str) -> Job:
        job = await self.app.engine.get(job_id)
        assert job is not None
        return job


def driven(made: Any) -> Any:
    """Run a coroutine that only awaits what is there already."""
    if not asyncio.iscoroutine(made):
        return made
    try:
        made.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")
