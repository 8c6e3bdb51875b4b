"""Work that must not be given up half-way, whoever waits for it; and work that is waited for so long only."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await it, and do so too when cancelled meanwhile, however often; then that is raised."""
    doing = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.wait({doing})
        except asyncio.CancelledError as error:
            cancelled = error
    result = doing.result()
    if cancelled is not None:
        raise cancelled
    return result


_left: set[asyncio.Task[Any]] = set()  # held, so that they are not dropped half-way


async def within(seconds: float, work: Coroutine[Any, Any, T], *, give_up: bool = True) -> T:
    """What it answers; TimeoutError once the time is over, and not when it has taken that to heart.

    What is cancelled may take as long again to end, where it speaks to somebody who does not answer. Without
    `give_up` it goes on by itself.
    """
    task = asyncio.create_task(work)
    _left.add(task)
    task.add_done_callback(_landed)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        if give_up:
            task.cancel()
        raise
    if done:
        return task.result()
    if give_up:
        task.cancel()
    raise TimeoutError


def _landed(task: asyncio.Task[Any]) -> None:
    _left.discard(task)
    if not task.cancelled():
        task.exception()  # who waited for it has been told, or waits no more
