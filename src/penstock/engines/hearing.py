"""Who waits for which queues, and what was heard of them since work was last looked for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable


class Hearing:
    """Touched by one event loop only."""

    def __init__(self) -> None:
        self._heard: Counter[str] = Counter()  # wake-ups per queue
        self._seen: dict[str, int] = {}  # how many of them there were when work was last looked for
        self._waiting: dict[asyncio.Future[None], frozenset[str]] = {}

    def look(self, queues: Iterable[str]) -> None:
        """Work is about to be looked for: only what is heard from now on is news."""
        for queue in queues:
            self._seen[queue] = self._heard[queue]

    def has_news(self, queues: Iterable[str]) -> bool:
        """Whether one of the queues was heard of since the last look."""
        return any(self._heard[queue] != self._seen.get(queue, 0) for queue in queues)

    async def wait(self, queues: frozenset[str], timeout: float) -> None:
        """Return when one of the queues is heard of, or after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        bell = loop.create_future()
        self._waiting[bell] = queues
        over = loop.call_later(timeout, _ring_once, bell)
        try:
            await bell
        finally:
            over.cancel()
            del self._waiting[bell]

    @property
    def waited_for(self) -> frozenset[str]:
        """All queues that somebody waits for now."""
        return frozenset().union(*self._waiting.values())

    def hear(self, queue: str) -> None:
        """There is work in this queue."""
        self._heard[queue] += 1
        self._ring(lambda queues: queue in queues)

    def hear_all(self) -> None:
        """Nobody knows what was said while we could not hear."""
        for queue in {*self._seen, *self._heard}:
            self._heard[queue] += 1
        self.end()

    def end(self) -> None:
        """Nobody waits any longer."""
        self._ring(lambda _: True)

    def _ring(self, concerns: Callable[[frozenset[str]], bool]) -> None:
        for bell, queues in self._waiting.items():
            if concerns(queues):
                _ring_once(bell)


def _ring_once(bell: asyncio.Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)
