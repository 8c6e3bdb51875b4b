"""How often somebody may ask, kept in this process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from penstock.model.limits import Limit, opens_in, permits, spend

MOST_KNOWN = 10_000  # the one that has asked least lately is forgotten first


class Rates:
    """One rate for each of many names."""

    def __init__(self, limit: Limit | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._spent: OrderedDict[str, float] = OrderedDict()

    def wait(self, name: str, limit: Limit | None = None) -> float | None:
        """Seconds until this name may ask again; None where it may now, which is not counted yet."""
        limit = limit or self._limit
        if limit is None:
            return None
        spent, now = self._spent.get(name, 0.0), self._clock()
        return None if permits(limit, spent, now) else max(opens_in(limit, spent, now), 1 / (limit.rate or 1))

    def count(self, name: str, limit: Limit | None = None) -> None:
        """That it has asked once."""
        limit = limit or self._limit
        if limit is None:
            return
        self._spent[name] = spend(limit, self._spent.get(name, 0.0), self._clock(), 1)
        self._spent.move_to_end(name)
        if len(self._spent) > MOST_KNOWN:
            self._spent.popitem(last=False)
