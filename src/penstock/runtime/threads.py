"""Threads for sync handlers. A thread cannot be killed: one that overruns is left behind and replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Threads:
    """As many threads as are needed at once; each is reused until it is left behind."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0  # under the lock: threads waiting for work, less work waiting for threads
        self._all: set[threading.Thread] = set()
        self._busy: set[threading.Thread] = set()

    def run(self, work: Work) -> None:
        """Run `work` in a thread of its own for as long as it takes."""
        with self._lock:
            self._idle -= 1
            if self._idle < 0:
                self._idle += 1
                self._grow()
        self._work.put(work)

    def _grow(self) -> None:
        # Daemons: a handler that never returns must not keep the process from ending.
        thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._all)}", daemon=True)
        self._all.add(thread)
        thread.start()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            self._busy.add(threading.current_thread())
            work()
            del work
            self._busy.discard(threading.current_thread())
            with self._lock:
                self._idle += 1

    @property
    def busy(self) -> int:
        """Threads that have work in hand, or are just about to lay it down."""
        return len(self._busy)

    def close(self, patience: float = 1.0) -> None:
        """Let idle threads end, and wait a little for them; those left behind end with the process."""
        for _ in self._all:
            self._work.put(None)
        for thread in self._all - self._busy:
            if thread is not threading.current_thread():
                thread.join(patience)
