"""Chores that clean up after jobs that have ended: they rest while there are none."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from penstock.runtime.account import Account
from penstock.runtime.backoff import jittered

Chore: TypeAlias = Callable[[], Awaitable[float]]

GLANCE = 30.0  # seconds between looks at whether there was work: they cost the engine nothing
LONGEST_REST = 300.0  # seconds; what others have left behind is cleaned up as well, in time
AT_ONCE = 1.0  # seconds at most, after which a chore comes again that is not through


class AfterWork:
    """A chore that is done when this worker has ended jobs since, else seldom."""

    def __init__(self, chore: Chore, account: Account) -> None:
        self._chore = chore
        self._account = account
        self._through: int | None = None  # with so many ends; None: it is not
        self._rested_at = 0.0
        self.__name__ = getattr(chore, "__name__", "chore")

    def rouse(self) -> None:
        """There is something to be done, whether this worker has ended jobs or not."""
        self._through = None

    async def __call__(self) -> float:
        ends, now = self._account.ends, time.monotonic()
        if ends == self._through and now < self._rested_at + LONGEST_REST:
            return jittered(GLANCE)
        self._through, self._rested_at = None, now
        again = await self._chore()
        if again > AT_ONCE:
            self._through = ends
        return again
