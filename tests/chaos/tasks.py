"""The app of the chaos runs: handlers that leave their history behind and do nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any
from uuid import uuid4

from tests.chaos import asleep
from tests.chaos.witness import hold_line

from penstock import Context, Penstock, Retry, SyncContext

HISTORY = "CHAOS_HISTORY"

asleep.install()

app = Penstock()
app.queue(
    "default", retry=Retry.immediate(3), keep_completed=None, keep_failed=None, keep_for=None, timeout=None
)


def note(f: str, ctx: Context | SyncContext, **more: Any) -> None:
    """Append a line to the history; one write, so that processes do not mix."""
    hold_line()
    job = ctx.job
    line: dict[str, Any] = {
        "t": time.monotonic(),
        "wall": time.time(),
        "f": f,
        "job": job.id,
        "attempt": job.attempt,
        "worker": job.worker,
        "pids": [os.getpid(), os.getppid()],
        **more,
    }
    fd = os.open(os.environ[HISTORY], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(fd, json.dumps(line).encode() + b"\n")
    finally:
        os.close(fd)


@app.task
async def on_loop(ctx: Context, n: int, seconds: float) -> str:
    """Waits on the loop; returns which run this was."""
    run = uuid4().hex
    note("start", ctx, run=run)
    await asyncio.sleep(seconds)
    note("end", ctx, run=run)
    return run


@app.task
def in_thread(ctx: SyncContext, n: int, seconds: float) -> str:
    """Waits in a thread; returns which run this was."""
    run = uuid4().hex
    note("start", ctx, run=run)
    time.sleep(seconds)
    note("end", ctx, run=run)
    return run
