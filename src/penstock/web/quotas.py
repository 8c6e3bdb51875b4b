"""How many jobs of one owner may be there unfinished: whoever floods us waits, and the others do not."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from penstock.web.promptly import LOOK_WITHIN, promptly
from penstock.web.refusals import Refusal

Ask: TypeAlias = Callable[[str, int], Awaitable[int]]
_Key: TypeAlias = tuple[str, int]  # owner, and how many it may have

COUNTED_FOR = 1.0  # seconds that a number counts; what was let in here since is added to it
TRY_AGAIN = 5  # seconds
MOST_KNOWN = 10_000  # the owner that has asked least lately is forgotten first


@dataclass(slots=True)
class _Count:
    at: float
    there: int
    since: int = 0  # let in here since
    asking: bool = False


class Quotas:
    """One number for each owner, asked for once a second at most: by whoever comes first, others go on.

    `ask` counts the jobs of an owner up to a number.
    """

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._counts: OrderedDict[_Key, _Count] = OrderedDict()
        self._first = asyncio.Lock()

    async def admit(self, owner: str, most: int) -> None:
        """Count one job more of this owner; Refusal where there are as many as may be."""
        count = await self._known((owner, most))
        if count.there + count.since >= most:
            raise full(most)
        count.since += 1

    async def _known(self, key: _Key) -> _Count:
        count = self._counts.get(key)
        if count is None:
            return await promptly(LOOK_WITHIN, self._counted_first(key))
        if self._clock() - count.at < COUNTED_FOR or count.asking:
            return count
        count.asking = True
        try:
            return await promptly(LOOK_WITHIN, self._counted(key))
        finally:
            count.asking = False

    async def _counted_first(self, key: _Key) -> _Count:
        async with self._first:
            return self._counts.get(key) or await self._counted(key)

    async def _counted(self, key: _Key) -> _Count:
        return self._remember(key, await self._ask(*key))

    def _remember(self, key: _Key, there: int) -> _Count:
        count = self._counts[key] = _Count(self._clock(), there)
        self._counts.move_to_end(key)
        if len(self._counts) > MOST_KNOWN:
            self._counts.popitem(last=False)
        return count


def full(most: int) -> Refusal:
    return Refusal(
        429,
        "quota_exceeded",
        f"this owner has {most:,} jobs that have not ended, which is as many as it may have; "
        "try again when some have",
        headers={"Retry-After": f"{TRY_AGAIN}"},
    )
