"""Who waits for work in this process, and what has happened since they last looked."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from penstock.engine import Want
from penstock.model.job import Claim

Marks = Mapping[str, int]


class Wakes:
    """Counts the wake-ups of each queue, so that one between an empty claim and the wait is not missed."""

    def __init__(self) -> None:
        self._gate = threading.Lock()  # guards all below
        self._rung: Counter[str] = Counter()
        self._rung_all = 0
        self._seen: dict[str, int] = {}
        self._waiting: dict[asyncio.Future[None], frozenset[str]] = {}

    def marks(self, queues: Iterable[str]) -> Marks:
        """How often each queue was rung so far: taken before a claim looks."""
        with self._gate:
            return {queue: self._mark(queue) for queue in queues}

    def looked(self, want: Want, claims: Sequence[Claim], marks: Marks) -> None:
        """A claim has emptied the queues from which it got less than it wanted."""
        if len(claims) >= want.limit:
            return
        got = Counter(claim.queue for claim in claims)
        with self._gate:
            for queue, mark in marks.items():
                if got[queue] < want.queues[queue]:
                    self._seen[queue] = max(mark, self._seen.get(queue, 0))

    def ring(self, queues: Iterable[str] | None) -> None:
        """Work may be there for these queues; None: for any. From any thread."""
        with self._gate:
            if queues is None:
                self._rung_all += 1
                woken = list(self._waiting)
            else:
                self._rung.update(queues)
                rung = set(queues)
                woken = [future for future, wanted in self._waiting.items() if not rung.isdisjoint(wanted)]
        for future in woken:
            with suppress(RuntimeError):  # its loop is closed
                future.get_loop().call_soon_threadsafe(_wake, future)

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        """Return at the next ring, or at once where one was not looked after yet."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._gate:
            if any(self._mark(queue) > self._seen.get(queue, 0) for queue in queues):
                return
            self._waiting[future] = frozenset(queues)
        try:
            async with asyncio.timeout(timeout):
                await future
        except TimeoutError:
            pass
        finally:
            with self._gate:
                del self._waiting[future]

    def _mark(self, queue: str) -> int:
        return self._rung[queue] + self._rung_all


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
