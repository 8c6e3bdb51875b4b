"""Running coroutines as a worker does: on uvloop where it is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 - an extra
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


async def rate(once: Callable[[], Awaitable[object]], most: int, cap: float) -> float:
    """How many per second, one after the other: at most `most`, and for at most `cap` seconds."""
    began = time.perf_counter()
    done = 0
    while done < most and time.perf_counter() - began < cap:
        await once()
        done += 1
    return done / (time.perf_counter() - began)


def rate_sync(once: Callable[[], object], most: int, cap: float) -> float:
    """As `rate`, for what blocks."""
    began = time.perf_counter()
    done = 0
    while done < most and time.perf_counter() - began < cap:
        once()
        done += 1
    return done / (time.perf_counter() - began)
