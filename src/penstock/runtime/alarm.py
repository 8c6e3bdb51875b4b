"""A time to wake at, which may be brought forward."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress


class Alarm:
    """One sleeps, and others may say that it has to be sooner. Touched by one event loop only."""

    def __init__(self) -> None:
        self._at = math.inf
        self._moved = asyncio.Event()

    def ring_in(self, seconds: float) -> None:
        """So many seconds from now at the latest."""
        at = time.monotonic() + seconds
        if at < self._at:
            self._at = at
            self._moved.set()

    async def sleep(self) -> None:
        """Until it rings. What is asked for from then on is for the next time."""
        while (left := self._at - time.monotonic()) > 0:
            self._moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if left == math.inf else left):
                    await self._moved.wait()
        self._at = math.inf
        await asyncio.sleep(0)  # one that rings at once lets others have their turn, too
