"""Tells when a handler blocks the event loop, and names the jobs that run there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("penstock.worker")

BLOCKED = 2.0  # seconds without a sign of life from the loop


class Watchdog:
    """A thread that waits for the loop to call `alive()`; each stretch of silence is told once."""

    def __init__(self, running: Callable[[], list[str]], blocked_after: float = BLOCKED) -> None:
        self._running = running
        self._blocked_after = blocked_after
        self._alive_at = time.monotonic()
        self._told_at = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="penstock-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def alive(self) -> None:
        self._alive_at = time.monotonic()

    def _main(self) -> None:
        while not self._stop.wait(self._blocked_after / 4):
            self._look()

    def _look(self) -> None:
        silent_for = time.monotonic() - self._alive_at
        if silent_for < self._blocked_after or self._told_at == self._alive_at:
            return
        self._told_at = self._alive_at
        log.warning(
            "the event loop has been blocked for %.1f s; an async handler must not block. Running on it: %s",
            silent_for,
            ", ".join(self._running()) or "nothing",
        )
