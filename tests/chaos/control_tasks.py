"""The app of the flow control run: limits, keys and a service that can be down."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.chaos.tasks import HISTORY, note

from penstock import Context, Penstock, Retry

RATE = 100  # starts a second
RESET = 2.0  # seconds that the breaker stays open

app = Penstock()
KEPT = {"keep_completed": None, "keep_failed": None, "keep_for": None, "retry": Retry.immediate(3)}
app.queue("paced", rate=f"{RATE}/s", **KEPT)
app.queue("default", **KEPT)
app.breaker("service", threshold=5, reset=RESET)


def service_is_down() -> bool:
    return service_flag().exists()


def service_flag() -> Path:
    """While this file is there, the service is down."""
    return Path(os.environ[HISTORY]).with_name("service-is-down")


@app.task(queue="paced")
async def paced(ctx: Context, n: int) -> None:
    note("start", ctx)


@app.task(concurrency=2, rate_key="{tenant}")
async def of_tenant(ctx: Context, tenant: str, seconds: float) -> None:
    note("start", ctx, tenant=tenant)
    await asyncio.sleep(seconds)
    note("end", ctx, tenant=tenant)


@app.task(needs="service")
async def needing(ctx: Context, n: int) -> None:
    note("start", ctx, down=service_is_down())
    if service_is_down():
        raise ConnectionError("the service is down")


@app.task
async def beside(ctx: Context, n: int) -> None:
    note("start", ctx)


@app.task
async def root() -> int:
    return 1


@app.task
async def leaf(ctx: Context, n: int) -> int:
    note("start", ctx)
    await asyncio.sleep(0.02)
    [base] = await ctx.results_of(root)
    return n + base


@app.task
async def total(ctx: Context) -> int:
    return sum(await ctx.results_of(leaf))
