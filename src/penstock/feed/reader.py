"""The feed as one process reads it: once, however many listen."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from penstock.engine import Engine, FeedPage
from penstock.feed.follow import FollowTokens
from penstock.feed.listening import RENEW_EVERY, SETTLED_AFTER, Epoch, jittered, keep_listening
from penstock.feed.subscription import EventFilter, Happened, Heard, Subscription
from penstock.model.errors import EngineError

log = logging.getLogger("penstock.feed")

POLL = 0.25  # seconds between looks at the feed
PAGE = 200  # events read at once
BREATH = 0.01  # seconds between pages: for those who listen to take what they were given
CATCHING_UP = 4  # listeners that read what they have missed, at once
AWAY = 1.0  # seconds before an engine that is away is asked again

_NUMBER = re.compile(r"[0-9]{1,18}")


class Feed:
    """Reads while somebody listens, and hands each event to those who want it.

    Touched by the event loop of the engine only.
    """

    def __init__(self, engine: Engine, *, settled_after: float = SETTLED_AFTER) -> None:
        self.tokens = FollowTokens(engine)  # with which others may follow one job
        self._engine = engine
        self._settled_after = settled_after
        self._epoch: Epoch | None = None
        self._since = 0.0  # when this epoch was first seen here
        self._renew_at = 0.0
        self._cursor = 0  # how far the feed has been read
        self._of_jobs: dict[str, set[Subscription]] = {}  # those who want one job's events only
        self._others: set[Subscription] = set()
        self._behind: set[Subscription] = set()  # those who read what they have missed
        self._starting = asyncio.Lock()
        self._catching_up = asyncio.Semaphore(CATCHING_UP)
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    @asynccontextmanager
    async def subscribe(
        self, where: EventFilter | None = None, after: str | None = None
    ) -> AsyncIterator[Subscription]:
        """Listen from now on, or from the cursor of what was heard last; EngineError where it cannot be."""
        await self.start()
        listener = Subscription(where or EventFilter(), self._cursor, self._here())
        self._place(listener, after)
        try:
            yield listener
        finally:
            self._remove(listener)

    async def close(self) -> None:
        """End every subscription, and read no more."""
        self._closed = True
        for listener in self._all():
            listener.end()
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait({reading})

    @property
    def listeners(self) -> int:
        return sum(1 for _ in self._all())

    # -- a listener's place -----------------------------------------------------------------------------
    def _place(self, listener: Subscription, after: str | None) -> None:
        """Put it where it left off; where that cannot be, it is told so and begins now."""
        listener.sure = self._settled
        number = None if after is None else self._number_of(after)
        if after is not None and number is None:
            listener.resync("gap", self._here())
        if number is None or number >= self._cursor:
            listener.position = self._cursor if number is None else number
            self._join(listener)
            return
        listener.position = number
        listener.catch_up = partial(self._catch_up, listener)
        self._behind.add(listener)

    async def _catch_up(self, listener: Subscription) -> list[Heard]:
        """The next of what a listener has missed; with the last of it, it is among the others."""
        async with self._catching_up:
            page = await self._engine.feed(listener.position, PAGE)
        if listener not in self._behind:  # meanwhile all were told to look at the jobs
            return []
        if page.gap:
            listener.position = self._cursor
            listener.resync("gap", self._here())
            self._join(listener)
            return []
        listener.position = page.cursor
        if page.cursor >= self._cursor:
            self._join(listener)
        return [happened for happened in self._told(page) if listener.where.wants(happened.event)]

    def _join(self, listener: Subscription) -> None:
        listener.catch_up = None
        self._behind.discard(listener)
        job_id = listener.where.job_id
        (self._others if job_id is None else self._of_jobs.setdefault(job_id, set())).add(listener)

    def _remove(self, listener: Subscription) -> None:
        self._behind.discard(listener)
        self._others.discard(listener)
        job_id = listener.where.job_id
        if job_id is not None and (listeners := self._of_jobs.get(job_id)) is not None:
            listeners.discard(listener)
            if not listeners:
                del self._of_jobs[job_id]

    # -- reading ----------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Read from now on, if it is not done already. Ends by itself where nobody listens."""
        async with self._starting:
            if self._closed:
                raise EngineError("the feed is closed")
            if self._reading is None or self._reading.done():
                await self._renew()
                self._cursor = (await self._engine.feed(None, 1)).cursor
                self._reading = asyncio.create_task(self._read_on())

    async def _read_on(self) -> None:
        while True:
            try:
                await self._round()
            except EngineError as error:
                log.warning("the feed cannot be read now: %s", error)
                await asyncio.sleep(AWAY)
            except Exception:
                log.exception("reading the feed failed; trying again")
                await asyncio.sleep(AWAY)
            await asyncio.sleep(jittered(POLL))
            if not self.listeners:
                return

    async def _round(self) -> None:
        if time.monotonic() >= self._renew_at:
            await self._renew()
        while True:
            page = await self._engine.feed(self._cursor, PAGE)
            self._cursor = page.cursor
            if page.gap:
                self._resync_all("gap")
            for happened in self._told(page):
                for listener in self._who_wants(happened):
                    listener.offer(happened)
            if len(page.events) < PAGE:
                return
            await asyncio.sleep(BREATH)

    async def _renew(self) -> None:
        """Say that somebody listens. Where the epoch is another than before, something may be missing."""
        long_enough = time.monotonic() - self._since >= self._settled_after
        before = self._epoch
        found = self._epoch = await keep_listening(self._engine, before, settled=long_enough)
        now = time.monotonic()
        self._renew_at = now + jittered(RENEW_EVERY)
        if before is None or before.name != found.name:
            self._since = now
            if before is not None:
                self._resync_all("gap")
        if found.settled:
            self._settle_doubts()
        else:
            self._renew_at = min(self._renew_at, self._since + self._settled_after)

    def _settle_doubts(self) -> None:
        """Who came before everybody knew that somebody listens looks at the jobs once, when all know."""
        for listener in self._all():
            if not listener.sure:
                listener.sure = True
                listener.resync("joined", self._here())

    def _resync_all(self, reason: str) -> None:
        for listener in list(self._all()):
            listener.sure = self._settled
            listener.position = self._cursor
            listener.resync(reason, self._here())
            self._join(listener)

    # -- who and what -----------------------------------------------------------------------------------
    @property
    def _settled(self) -> bool:
        return self._epoch is not None and self._epoch.settled

    def _told(self, page: FeedPage) -> Iterator[Happened]:
        for number, at, event in page.events:
            yield Happened(number, at, event, self._cursor_of(number))

    def _here(self) -> str:
        return self._cursor_of(self._cursor)

    def _cursor_of(self, number: int) -> str:
        """Without an epoch it cannot be gone on from."""
        return f"{number}-{self._epoch.name}" if self._epoch and self._epoch.settled else str(number)

    def _number_of(self, cursor: str) -> int | None:
        """Where to go on from; None where something may be missing since then."""
        number, _, epoch = cursor.partition("-")
        whole = self._epoch is not None and self._epoch.settled and epoch == self._epoch.name
        return int(number) if whole and _NUMBER.fullmatch(number) else None

    def _who_wants(self, happened: Happened) -> Iterator[Subscription]:
        yield from self._others
        yield from self._of_jobs.get(happened.event.job_id, ())

    def _all(self) -> Iterator[Subscription]:
        yield from self._others
        yield from self._behind
        for listeners in self._of_jobs.values():
            yield from listeners
