"""Rows that refuse to be changed: left alone for a while, so that they hold up no other."""

from __future__ import annotations

import time
from typing import Any

ASIDE_FOR = 60.0  # seconds


class Aside:
    """The rows that one verb leaves out, and until when."""

    def __init__(self) -> None:
        self._until: dict[Any, float] = {}  # ids, by time.monotonic()

    def put(self, row_id: Any) -> None:
        self._until[row_id] = time.monotonic() + ASIDE_FOR

    def ids(self) -> list[Any]:
        """Those that are left out now."""
        if self._until:
            now = time.monotonic()
            self._until = {row_id: until for row_id, until in self._until.items() if until > now}
        return list(self._until)
