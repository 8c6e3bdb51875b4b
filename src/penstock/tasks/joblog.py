"""What a run logs by `ctx.log`, for people who look at the job: its latest lines, without secrets."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from penstock.model.failure import described, shorten
from penstock.model.redaction import Clean

MAX_LINES = 100
MAX_LINE = 500  # characters
MAX_TEXT = 8_000  # characters of all lines
TELL_EVERY = 2.0  # seconds, at least

Line: TypeAlias = dict[str, str]  # at, level, text


class JobLog:
    """Of one run. Any thread may log."""

    def __init__(self, clean: Clean, tell: Callable[[list[Line]], None]) -> None:
        self._clean = clean
        self._tell = tell
        self._lines: deque[Line] = deque(maxlen=MAX_LINES)
        self._lock = threading.Lock()
        self._told = 0.0  # when, by the monotonic clock
        self._untold = False

    def add(self, level: int, message: Any, args: tuple[Any, ...], error: BaseException | None) -> None:
        """Keep a line; where it cannot be read it is left out: a log must not fail the work."""
        try:
            text = str(message) % args if args else str(message)
            text += f": {described(error)}" if error is not None else ""
            told = shorten(self._clean(text), MAX_LINE)
        except Exception:  # noqa: BLE001 - whatever was given: logging itself complains of it
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock:
            self._lines.append({"at": at, "level": logging.getLevelName(level).lower(), "text": told})
            while sum(len(line["text"]) for line in self._lines) > MAX_TEXT:
                self._lines.popleft()
            self._untold = True
        if time.monotonic() - self._told > TELL_EVERY:
            self.tell()

    def tell(self) -> None:
        """Say what was logged so far, where that is more than was said."""
        with self._lock:
            if not self._untold:
                return
            self._untold, self._told = False, time.monotonic()
            lines = list(self._lines)
        self._tell(lines)
