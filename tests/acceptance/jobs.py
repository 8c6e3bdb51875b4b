"""The app of the acceptance tests. Handlers write what they do to a file that outlives everything else."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from penstock import Context, NoOp, Penstock, RateLimited, Retry, Snooze, SyncContext, Unrecoverable

app = Penstock()
app.queue("default", retry=Retry.immediate(3))
app.queue("alone", concurrency=1)
app.queue("switched")


def effect(f: str, ctx: Context | SyncContext, **more: Any) -> None:
    """Append one line, at once and whole, from whichever process the handler runs in."""
    line = {
        "t": time.monotonic(),
        "f": f,
        "job": ctx.job.id,
        "attempt": ctx.attempt,
        "pid": os.getpid(),
        **more,
    }
    fd = os.open(os.environ["ACCEPTANCE_EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(fd, json.dumps(line).encode() + b"\n")
    finally:
        os.close(fd)


# -- where handlers run; what a death has interrupted is quick the second time -----------------------------
@app.task
async def on_loop(ctx: Context, seconds: float = 0.0) -> dict[str, Any]:
    """Works on the loop."""
    effect("start", ctx)
    await asyncio.sleep(0 if ctx.job.suspect else seconds)
    effect("end", ctx)
    return _where()


@app.task
def in_thread(ctx: SyncContext, seconds: float = 0.0) -> dict[str, Any]:
    """Works in a thread."""
    effect("start", ctx)
    time.sleep(0 if ctx.job.suspect else seconds)
    effect("end", ctx)
    return _where()


@app.task
async def awaits_a_thread(ctx: Context, seconds: float = 0.0) -> None:
    """Waits on the loop for a thread that nobody can stop."""
    effect("start", ctx)
    await asyncio.to_thread(time.sleep, seconds)
    effect("end", ctx)


@app.task(execute="process")
def in_process(ctx: SyncContext, seconds: float = 0.0) -> dict[str, Any]:
    """Works in a process of its own."""
    effect("start", ctx)
    time.sleep(0 if ctx.job.suspect else seconds)
    effect("end", ctx)
    return _where()


def _where() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "main_thread": threading.current_thread() is threading.main_thread(),
        "switch_interval": sys.getswitchinterval(),
        "kept_from_collections": gc.get_freeze_count(),
    }


# -- what handlers say ----------------------------------------------------------------------------------
@app.task
async def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@app.task
async def halfway(ctx: Context) -> None:
    """Tells that it is half done, and stays there."""
    await ctx.progress(50, "half done")
    await asyncio.sleep(600)


@app.task(retry=Retry.exponential(3, 0.3, jitter=0.0))
async def fails_twice(ctx: Context) -> str:
    """Succeeds at the third attempt."""
    effect("start", ctx)
    if ctx.attempt < 3:
        raise ConnectionError(f"attempt {ctx.attempt}")
    return "third"


@app.task
async def says(ctx: Context, how: str) -> None:
    """Ends by a signal of its own."""
    effect("start", ctx)
    if how == "unrecoverable":
        raise Unrecoverable("no such order")
    if how == "no-op":
        raise NoOp("the order was deleted")
    if how == "rate-limited" and ctx.attempt == 1:
        raise RateLimited(retry_after=0.3)


@app.task
async def snoozes(ctx: Context, until: float) -> int:
    """Comes again until the time has come."""
    effect("start", ctx)
    if time.time() < until:
        raise Snooze(0.2)
    return ctx.attempt


@app.task
async def returns_much(megabytes: int) -> str:
    """Returns more than is kept."""
    return "x" * (megabytes * 1024 * 1024)


# -- jobs that wait for others, and what is kept between runs ---------------------------------------------
@app.task
async def numbers(count: int) -> list[int]:
    """The first of a flow."""
    return list(range(count))


@app.task
async def square(ctx: Context, n: int) -> int:
    """One of many; some take a while, so that something runs whenever a worker is killed."""
    [known] = await ctx.results_of(numbers)
    await asyncio.sleep(0 if n % 50 else 0.3)
    return known[n] ** 2


@app.task
async def total(ctx: Context) -> int:
    """The last of a flow."""
    return sum(await ctx.results_of(square))


@app.task
async def charges(ctx: Context) -> str:
    """Does one thing for good, asks for a follower, and is interrupted."""
    receipt = await ctx.step("charge", _charge, ctx)
    ctx.enqueue(after_it.call())
    effect("start", ctx)
    await asyncio.sleep(0 if ctx.job.suspect else 60)
    return receipt


@app.task(execute="process")
def charges_alone(ctx: SyncContext) -> str:
    """The same in a process of its own."""
    receipt = ctx.step("charge", _charge, ctx)
    ctx.enqueue(after_it.call())
    effect("start", ctx)
    time.sleep(0 if ctx.job.suspect else 60)
    return receipt


def _charge(ctx: Context | SyncContext) -> str:
    effect("charge", ctx)
    return f"receipt {os.getpid()}"


# -- what goes wrong ------------------------------------------------------------------------------------
class Strange(BaseException):
    """Not even an Exception."""


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text here")


def _recurse(depth: int) -> int:
    return _recurse(depth + 1) + 1


def _raise(how: str) -> None:
    match how:
        case "SystemExit":
            sys.exit(3)
        case "KeyboardInterrupt":
            raise KeyboardInterrupt
        case "Strange":
            raise Strange("strange")
        case "RecursionError":
            _recurse(0)
        case "MemoryError":
            raise MemoryError
        case "StopIteration":
            next(iter(()))
        case "Unreadable":
            raise Unreadable
        case "Long":
            raise RuntimeError("x" * 10 * 1024 * 1024)


@app.task(retry=Retry.none())
async def raises(how: str) -> None:
    """Raises on the loop."""
    _raise(how)


@app.task(retry=Retry.none())
def raises_in_thread(how: str) -> None:
    """Raises in a thread."""
    _raise(how)


@app.task(retry=Retry.none(), execute="process")
def raises_in_process(how: str) -> None:
    """Raises in a process of its own."""
    _raise(how)


@app.task
def crashes(ctx: SyncContext, how: str, code: int = 0) -> None:
    """Takes its process with it."""
    effect("start", ctx)
    if how == "exit":
        os._exit(code)
    ctypes.string_at(0)


@app.task
def holds_the_gil(ctx: SyncContext, seconds: float) -> None:
    """Sleeps in C without letting any other thread run."""
    effect("start", ctx)
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    effect("end", ctx)


@app.task(queue="alone")
async def blocks_the_loop(ctx: Context, seconds: float) -> None:
    """Does what an async handler must not."""
    effect("start", ctx)
    time.sleep(seconds)
    effect("end", ctx)


@app.task(execute="process", timeout=1, retry=Retry.none())
def endless(ctx: SyncContext) -> None:
    """Never ends by itself."""
    effect("start", ctx)
    while True:
        pass


@app.task(timeout=0.5, retry=Retry.none(), queue="alone")
def overruns(ctx: SyncContext, seconds: float) -> None:
    """A thread that takes longer than it may."""
    effect("start", ctx)
    time.sleep(seconds)
    effect("end", ctx)


@app.task(queue="alone")
async def after_it(ctx: Context) -> None:
    """Runs when the one slot of its queue is free."""
    effect("start", ctx)


# -- what can be switched -------------------------------------------------------------------------------
def _switched_on() -> bool:
    return Path(os.environ["ACCEPTANCE_EFFECTS"]).with_name("switched-on").exists()


@app.task(queue="switched", enabled=_switched_on, when_disabled="park")
async def kept_aside(ctx: Context) -> None:
    """Waits while it is switched off."""
    effect("start", ctx)


@app.task(queue="switched", enabled=_switched_on, when_disabled="refuse")
async def turned_away(ctx: Context) -> None:
    """Is refused while it is switched off."""
    effect("start", ctx)
