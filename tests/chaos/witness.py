"""What a chaos run sees for itself: when processes die, and how long the engine holds workers alive."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Self

LOOK_EVERY = 0.1  # seconds between looks at the heartbeats
# A death is dated when its witness comes to write it down. One that has to wait for others would date it
# after the start of the next run, which may begin within milliseconds.
PROMPT = 0.000_1  # seconds that another thread may keep it from running
FIRST = -10  # its priority among all processes, where that may be had

Note = Callable[..., float]


class Witness(AbstractContextManager["Witness"]):
    """Writes `dead` and `beat` lines into the history, from threads of its own."""

    def __init__(self, note: Note, workers: Callable[[], Iterable[Any]]) -> None:
        self._note = note
        self._workers = workers
        self._over = threading.Event()
        self._poll = select.epoll()
        self._pids: dict[int, int] = {}  # by the file that tells of the death
        self._until: dict[str, datetime] = {}
        self._problem: Exception | None = None
        looks = (self._deaths, self._beats)
        self._threads = [threading.Thread(target=self._look_on, args=(look,), daemon=True) for look in looks]

    def __enter__(self) -> Self:
        sys.setswitchinterval(PROMPT)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._poll.close()
        for fd in self._pids:
            os.close(fd)
        if self._problem is not None:
            raise self._problem

    def watch(self, pids: Iterable[int]) -> None:
        """Tell when these processes die."""
        for pid in pids:
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                self._note("dead", pid=pid)
            else:
                self._pids[fd] = pid
                self._poll.register(fd, select.EPOLLIN)

    def _look_on(self, look: Callable[[], None]) -> None:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), FIRST)
        try:
            while not self._over.is_set():
                look()
        except Exception as error:
            self._problem = error

    def _deaths(self) -> None:
        for fd, _ in self._poll.poll(0.2):
            self._note("dead", pid=self._pids.pop(fd))
            self._poll.unregister(fd)  # closing is not enough while a process just forked holds it too
            os.close(fd)

    def _beats(self) -> None:
        for worker in self._workers():
            if worker.expires_at not in (None, self._until.get(worker.id)):
                self._until[worker.id] = worker.expires_at
                self._note("beat", worker=worker.id, until=worker.expires_at.timestamp())
        self._over.wait(LOOK_EVERY)
