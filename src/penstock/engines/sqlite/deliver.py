"""From a thread to the event loops: answers of a whole batch with one call per loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from penstock.engines.sqlite.session import Tx


class Work(NamedTuple):
    """A write verb on its way, and who waits for it."""

    verb: Callable[[Tx], Any]
    future: asyncio.Future[Any]


class Answer(NamedTuple):
    future: asyncio.Future[Any]
    value: Any
    error: Exception | None


def deliver(answers: Iterable[Answer]) -> None:
    """Hand every answer to the loop that waits for it."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_loop[answer.future.get_loop()].append(answer)
    for loop, mine in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(answers: list[Answer]) -> None:
    for future, value, error in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
