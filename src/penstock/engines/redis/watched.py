"""What is told to those who watch: the feed, and what workers have counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import FEED_KEPT, FeedPage, JobEvent, Minute, Quarter, Sample
from penstock.engine.counting import by_queue, sums_of
from penstock.engine.feeding import check_events, has_gap
from penstock.engines.redis.inspect import Inspection
from penstock.engines.redis.instants import instant, number, stored
from penstock.engines.redis.measures import measures_of


class Watched(Inspection):
    """The verbs about both. What is told or counted twice is there twice, so nothing is tried again."""

    async def publish(self, events: Sequence[JobEvent]) -> None:
        check_events(events)
        if events:
            await self._do_once("publish", number(FEED_KEPT), *(json.dumps(e).encode() for e in events))

    async def feed(self, after: int | None, limit: int) -> FeedPage:
        asked = b"" if after is None else number(after)
        answer = await self._do("feed", asked, number(limit))
        first, last, dropped = map(int, answer[:3])
        if after is None or after > last:
            return FeedPage([], last, after is not None)
        gap = has_gap(after, first=first, last=last, dropped=dropped)
        events = [
            (int(n), instant(int(at)), JobEvent(*json.loads(told)))
            for n, at, told in zip(*[iter(answer[3:])] * 3, strict=True)
        ]
        return FeedPage(events, events[-1][0] if events else max(after, dropped), gap)

    async def count(self, samples: Sequence[Sample]) -> None:
        if sums := sums_of(samples):
            counted = {f"{queue}:{task}": measures for (queue, task), measures in sums.items()}
            whole = {f"{queue}:": measures for queue, measures in by_queue(sums).items()}
            words = [
                word
                for name, measures in (*counted.items(), *whole.items())
                for word in (name.encode(), json.dumps(measures).encode())
            ]
            await self._do_once("count", number(len(counted)), *words)

    async def series(self, since: datetime, until: datetime, queue: str | None = None) -> list[Minute]:
        return await self._steps(b"minute", since, until, queue)

    async def quarters(self, since: datetime, until: datetime, queue: str | None = None) -> list[Quarter]:
        found = await self._steps(b"quarter", since, until, queue)
        return [Quarter(quarter.at, quarter.queue, quarter.measures) for quarter in found]

    async def _steps(self, step: bytes, since: datetime, until: datetime, queue: str | None) -> list[Minute]:
        """Of whole queues the tasks have no name."""
        found: list[Minute] = []
        look, before, of = number(stored(since)), number(stored(until)), (queue or "").encode()
        while look:
            look, *rows = await self._do("series", look, before, of, step)
            found += read_minutes(rows)
        return sorted(found, key=lambda minute: minute[:3])

    async def totals(self) -> list[Sample]:
        rows = await self._do("totals")
        found = [
            Sample(*_names(kind), measures_of(measures))
            for kind, measures in zip(*[iter(rows)] * 2, strict=True)
        ]
        return sorted(found, key=lambda sample: sample[:2])


def read_minutes(rows: list[bytes]) -> list[Minute]:
    """The minutes that one look of `series.lua` tells."""
    return [
        Minute(instant(int(at)), *_names(kind), measures_of(measures))
        for at, kind, measures in zip(*[iter(rows)] * 3, strict=True)
    ]


def _names(kind: bytes) -> tuple[str, str]:
    queue, _, task = kind.decode().partition(":")
    return queue, task
