"""Puts three jobs in where it is told to, and works until the ledger says that all have ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys

from penstock import Context, Penstock

app = Penstock()


@app.task
async def work(ctx: Context, n: int) -> str:
    with open(os.environ["LEDGER_RUNS"], "a") as file:  # noqa: PTH123
        file.write(f"{ctx.job.id}\n")
    if n == 0:
        ctx.enqueue(follow.call(n=n))
    return ctx.job.id


@app.task
async def follow(ctx: Context, n: int) -> str:
    with open(os.environ["LEDGER_RUNS"], "a") as file:  # noqa: PTH123
        file.write(f"{ctx.job.id}\n")
    return ctx.job.id


def left() -> int:
    with contextlib.closing(
        sqlite3.connect(os.environ["PENSTOCK_LEDGER"].removeprefix("sqlite:///"))
    ) as ledger:
        sql = "select count(*) from penstock_background_jobs where finished_at is null"
        (count,) = ledger.execute(sql).fetchone()
    return int(count)


async def main() -> None:
    async with app:
        if "enqueue" in sys.argv:
            for job in await app.aenqueue_many([work.call(n=n) for n in range(3)]):
                print(job.id, flush=True)
        working = asyncio.create_task(app.worker(lease=1.0).run())
        while left():
            await asyncio.sleep(0.1)
        working.cancel()
        await asyncio.wait([working])


if __name__ == "__main__":
    asyncio.run(main())
