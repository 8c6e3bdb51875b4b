"""What is kept beside the jobs: notes, samples and the feed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from penstock.engine import FeedPage, JobEvent, Minute, Note, Quarter, Sample
from penstock.engine.counting import sums_of
from penstock.engine.feeding import check_events
from penstock.engine.notes import check_keys, check_kind, check_note, check_page
from penstock.engines.sqlite import feed as feed_rows
from penstock.engines.sqlite import notes as note_rows
from penstock.engines.sqlite import series as series_rows
from penstock.engines.sqlite.opened import Opened


class Kept(Opened):
    """The verbs about them."""

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        check_note(kind, key, body, ttl, expect)
        return await self._write(lambda tx: note_rows.put_note(tx, kind, key, body, ttl=ttl, expect=expect))

    async def note(self, kind: str, key: str) -> Note | None:
        check_keys(kind, [key])
        return await self._read(lambda view: note_rows.note(view, kind, key))

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        check_page(kind, after)
        return await self._read(lambda view: note_rows.notes(view, kind, limit, after, newest=newest))

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        named = check_keys(kind, keys)
        return await self._write(lambda tx: note_rows.remove_notes(tx, kind, named)) if named else 0

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        check_kind(kind)
        return await self._write(lambda tx: note_rows.forget_notes(tx, kind, older_than, limit))

    async def publish(self, events: Sequence[JobEvent]) -> None:
        check_events(events)
        if events:
            await self._write(lambda tx: feed_rows.publish(tx, events))

    async def feed(self, after: int | None, limit: int) -> FeedPage:
        return await self._read(lambda view: feed_rows.feed(view, after, limit))

    async def count(self, samples: Sequence[Sample]) -> None:
        if sums := sums_of(samples):
            await self._write(lambda tx: series_rows.count(tx, sums))

    async def series(self, since: datetime, until: datetime, queue: str | None = None) -> list[Minute]:
        return await self._read(lambda view: series_rows.series(view, since, until, queue))

    async def quarters(self, since: datetime, until: datetime, queue: str | None = None) -> list[Quarter]:
        return await self._read(lambda view: series_rows.quarters(view, since, until, queue))

    async def totals(self) -> list[Sample]:
        return await self._read(series_rows.totals)
