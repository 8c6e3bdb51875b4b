"""What is told to those who watch: the feed, and what workers have counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from penstock.engine import FEED_KEPT, FeedPage, JobEvent, Minute, Quarter, Sample
from penstock.engine.counting import by_queue, sums_of
from penstock.engine.feeding import check_events, has_gap
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call


class Watched(Base):
    """The verbs about both. What is told or counted twice is there twice, so nothing is tried again."""

    async def publish(self, events: Sequence[JobEvent]) -> None:
        check_events(events)
        if events:
            names = ("events", "job_ids", "queues", "tasks", "owners", "bodies")
            columns = dict(zip(names, map(list, zip(*events, strict=True)), strict=True))
            await self._once("publish", kept=FEED_KEPT, **columns)

    async def feed(self, after: int | None, limit: int) -> FeedPage:
        rows = await self._do("feed", after=after or 0, limit=0 if after is None else limit)
        first, last, dropped = rows[0][:3] if rows else (0, 0, 0)
        if after is None or after > last:
            return FeedPage([], last, after is not None)
        gap = has_gap(after, first=first, last=last, dropped=dropped)
        events = [
            (number, at.astimezone(UTC), JobEvent(*told))
            for _, _, _, number, at, *told in rows
            if number is not None
        ]
        return FeedPage(events, events[-1][0] if events else max(after, dropped), gap)

    async def count(self, samples: Sequence[Sample]) -> None:
        if sums := sums_of(samples):
            await self._once(
                "count",
                queues=[queue for queue, _ in sums],
                tasks=[task for _, task in sums],
                measures=[json.dumps(measures) for measures in sums.values()],
                whole_queues=list(whole := by_queue(sums)),
                whole_measures=[json.dumps(measures) for measures in whole.values()],
            )

    async def series(self, since: datetime, until: datetime, queue: str | None = None) -> list[Minute]:
        return [minute(*row) for row in await self._do("series", since=since, until=until, queue=queue)]

    async def quarters(self, since: datetime, until: datetime, queue: str | None = None) -> list[Quarter]:
        rows = await self._do("quarters", since=since, until=until, queue=queue)
        return [Quarter(at.astimezone(UTC), named, json.loads(measures)) for at, named, measures in rows]

    async def totals(self) -> list[Sample]:
        return [
            Sample(queue, task, json.loads(measures)) for queue, task, measures in await self._do("totals")
        ]

    async def _once(self, statement: str, /, **values: object) -> None:
        call = Call(self._sql[statement], {"now": self._clock.now(), **values})
        await self._database.run(call, repeatable=False)


def minute(at: datetime, queue: str, task: str, measures: str) -> Minute:
    """A minute from its row."""
    return Minute(at.astimezone(UTC), queue, task, json.loads(measures))
