"""How many streams are open, and whose: each keeps the whole fleet telling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.web.refusals import Refusal

WAIT = 10  # seconds after which there may be room again


class Seats:
    """Counts the streams of each name, and all of them."""

    def __init__(self, each: int, all_: int) -> None:
        self._each = each
        self._all = all_
        self._taken: Counter[str] = Counter()

    def check(self, name: str) -> None:
        """Refusal where there is no room for one more of this name."""
        if self._taken[name] >= self._each or self._taken.total() >= self._all:
            headers = {"Retry-After": f"{WAIT}"}
            raise Refusal(429, "rate_limited", "too many streams are open; end some", headers=headers)

    @contextmanager
    def taken(self, name: str) -> Iterator[None]:
        self._taken[name] += 1
        try:
            yield
        finally:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]
