"""One listener: what it wants to hear, and a bounded buffer of what it has not taken yet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from penstock.engine import JobEvent

MAX_BUFFERED = 1_000  # events that a listener may be behind


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted; None is no bound."""

    owner: str | None = None
    queue: str | None = None
    job_id: str | None = None
    events: Collection[str] | None = None

    def wants(self, event: JobEvent) -> bool:
        return (
            (self.owner is None or event.owner == self.owner)
            and (self.queue is None or event.queue == self.queue)
            and (self.job_id is None or event.job_id == self.job_id)
            and (self.events is None or event.event in self.events)
        )


class Happened:
    """One event, as all listeners share it."""

    __slots__ = ("at", "cursor", "event", "frame", "number")

    def __init__(self, number: int, at: datetime, event: JobEvent, cursor: str) -> None:
        self.number = number
        self.at = at
        self.event = event
        self.cursor = cursor  # to go on from after it
        self.frame: bytes | None = None  # as it is sent to all of them, once somebody has made it

    @property
    def data(self) -> dict[str, Any]:
        event = self.event
        return {
            **json.loads(event.body),
            "job_id": event.job_id,
            "queue": event.queue,
            "task": event.task,
            "owner": event.owner,
            "at": self.at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Resync:
    """Something may be missing: look at the jobs themselves, then go on from here."""

    reason: str  # joined, gap, slow
    cursor: str


Heard: TypeAlias = Happened | Resync


class Subscription:
    """Touched by one event loop only."""

    def __init__(self, where: EventFilter, position: int, cursor: str) -> None:
        self.where = where
        self.position = position  # the number of the last event it was offered
        self.cursor = cursor  # where it began
        self.sure = True  # False: what others did not know to tell yet may be missing
        self.cut = False  # it was too slow, or the feed is closed: what is buffered is the last
        self.catch_up: Callable[[], Awaitable[list[Heard]]] | None = None  # while it is behind all others
        self._buffer: list[Heard] = []  # an empty deque has 600 bytes, for each who listens
        self._filled = asyncio.Event()

    def offer(self, happened: Happened) -> None:
        """Buffer it, where it is wanted and new; who has left too many untaken is cut."""
        if happened.number <= self.position or self.cut:
            return
        self.position = happened.number
        if not self.where.wants(happened.event):
            return
        if len(self._buffer) >= MAX_BUFFERED:
            self.resync("slow", happened.cursor)
            self.end()
        else:
            self._put(happened)

    def resync(self, reason: str, cursor: str) -> None:
        """In the place of what is buffered, which is seen by looking at the jobs too."""
        if not self.cut:
            self._buffer.clear()
            self._put(Resync(reason, cursor))

    def end(self) -> None:
        self.cut = True
        self._filled.set()

    async def take(self, within: float) -> list[Heard]:
        """What has come, in order; nothing where nothing comes within these seconds, or it has been cut."""
        if self.catch_up is not None and not self._buffer:
            return await self.catch_up()
        if not (self._buffer or self.cut):
            try:
                async with asyncio.timeout(within):
                    await self._filled.wait()
            except TimeoutError:
                return []
        self._filled.clear()
        taken, self._buffer = self._buffer, []
        return taken

    def _put(self, item: Heard) -> None:
        self._buffer.append(item)
        self._filled.set()
