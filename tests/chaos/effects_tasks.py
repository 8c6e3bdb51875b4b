"""The app of the crash points: each job makes one effect, in the jobs' own database or in the user's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
from typing import Any

import psycopg

from penstock import Context, Penstock, Retry, SyncContext, crash_points

HOME = "PENSTOCK_OUTBOX"  # the user's own database

app = Penstock()
app.queue(
    "default", retry=Retry.immediate(3), keep_completed=None, keep_failed=None, keep_for=None, timeout=None
)
EFFECT = "insert into effects_made (kind, n) values ({mark}, {mark})"


def effect(connection: Any) -> str:
    """The statement that makes one, for this driver."""
    is_sqlite = isinstance(connection, sqlite3.Connection)
    return EFFECT.format(mark="?" if is_sqlite else "%s")


def home() -> Any:
    """A connection to the user's database, as his own code has it."""
    url = os.environ[HOME]
    if url.startswith("sqlite:///"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)
    return psycopg.connect(url)


@app.task
async def charge(ctx: Context, n: int) -> None:
    """The effect and the end of the run are one transaction."""
    async with ctx.transaction() as tx:
        await tx.execute(effect(tx.connection), ("charge", n))
        crash_points.passing("effect-made")


@app.task
def charge_in_thread(ctx: SyncContext, n: int) -> None:
    """The same, with a record."""
    with ctx.transaction() as tx:
        if ctx.once("charge"):
            tx.execute(effect(tx.connection), ("charge_in_thread", n))
        crash_points.passing("effect-made")


@app.task
async def book(ctx: Context, n: int) -> None:
    """The effect and its record are one transaction of the user's own; the run ends afterwards."""
    with contextlib.closing(home()) as connection:
        if await ctx.once("book", connection=connection):
            connection.execute(effect(connection), ("book", n))
        crash_points.passing("effect-made")
        connection.commit()
    await asyncio.sleep(0)


@app.task
def book_in_thread(ctx: SyncContext, n: int) -> None:
    with contextlib.closing(home()) as connection:
        if ctx.once("book", connection=connection):
            connection.execute(effect(connection), ("book_in_thread", n))
        crash_points.passing("effect-made")
        connection.commit()


def work(crash_at: str) -> None:
    """A worker, until nothing is left to do or it is killed."""
    crash_points.choose(crash_at)

    async def run() -> None:
        async with app:
            while await app.worker(slots=4).run(burst=True):
                pass

    asyncio.run(run())


def serve() -> None:
    """Fork a worker for each line that says where it is to crash; answer how it ended."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                work(json.loads(line))
                os._exit(0)
            os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    from tests.chaos import effects_tasks  # as the workers of suspects load it

    effects_tasks.serve()
