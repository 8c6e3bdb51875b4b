"""The app of the ledger's chaos run: its engine and its ledger come from the environment."""

from __future__ import annotations

import asyncio
import json
import os
from uuid import uuid4

from penstock import Context, Penstock, Retry

RUNS = "CHAOS_RUNS"

app = Penstock()
app.queue("default", retry=Retry.immediate(1_000), timeout=None)
app.queue("still", retry=Retry.immediate(1_000), timeout=None)  # paused until Redis is lost no more


@app.task
async def work(ctx: Context, n: int, seconds: float) -> str:
    """Waits, leaves a line that says that this run came to its end, and returns which run it was."""
    run = uuid4().hex
    await asyncio.sleep(seconds)
    line = json.dumps({"job": ctx.job.id, "run": run}).encode() + b"\n"
    fd = os.open(os.environ[RUNS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)
    return run


@app.task(queue="still")
async def stay(ctx: Context, n: int) -> str:
    return await work(ctx, n, 0.0)
