"""The sender: one message at a time to each channel, whatever waits for it together; nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from penstock.alerts.channels import Channel, Notice, Told

log = logging.getLogger("penstock.alerts")

MOST_WAITING = 1_000  # alerts that wait to be told, over all channels

Send: TypeAlias = Callable[[Channel, Notice], Awaitable[str | None]]


class Item(NamedTuple):
    """One alert that a channel is to be told of."""

    key: str
    told: Told


class Result(NamedTuple):
    """How one message went."""

    channel: str
    items: tuple[Item, ...]
    problem: str | None


class Sender:
    """Touched by one event loop only."""

    def __init__(self, channels: Mapping[str, Channel], send: Send) -> None:
        self._channels = channels
        self._send = send
        self._waiting: dict[str, list[Item]] = {name: [] for name in channels}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._results: list[Result] = []
        self.news = asyncio.Event()  # there are results
        self.sent = 0  # messages
        self.failed = 0
        self.dropped = 0  # alerts for which there was no room

    def offer(self, channel: str, items: Sequence[Item]) -> int:
        """Tell a channel of these when it is free; how many there was room for."""
        room = max(0, MOST_WAITING - sum(len(waiting) for waiting in self._waiting.values()))
        taken = items[:room]
        if len(taken) < len(items):
            self.dropped += len(items) - len(taken)
            log.error("%d alerts dropped: %d wait to be told already", len(items) - room, MOST_WAITING)
        self._waiting[channel] += taken
        if taken and channel not in self._tasks:
            self._tasks[channel] = asyncio.create_task(self._empty(channel))
        return len(taken)

    def results(self) -> list[Result]:
        """What has come of it since this was last asked."""
        self.news.clear()
        found, self._results = self._results, []
        return found

    async def idle(self) -> None:
        """Until nothing waits and nothing is on its way."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        """Drop what waits, end what is on its way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _empty(self, channel: str) -> None:
        try:
            while items := tuple(self._waiting[channel]):
                self._waiting[channel].clear()
                problem = await self._tell(channel, items)
                self._results.append(Result(channel, items, problem))
                self.news.set()
        finally:
            del self._tasks[channel]

    async def _tell(self, channel: str, items: tuple[Item, ...]) -> str | None:
        try:
            problem = await self._send(self._channels[channel], Notice(tuple(item.told for item in items)))
        except Exception:
            log.exception("channel %s could not be told of %d alerts", channel, len(items))
            problem = "it could not be told"
        if problem is None:
            self.sent += 1
        else:
            self.failed += 1
            log.warning("channel %s was not told of %d alerts: %s", channel, len(items), problem)
        return problem
