"""What a chaos run sees for itself: when processes die, and how long the engine holds workers alive.

A process is dead when none of its code can run any more. The kernel lets go of its files then, and reports
its exit a little later: on a busy machine others may have their turn in between, and the job with it.
Who runs jobs therefore holds a line to the witness, and the first of the two signs counts.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

LOOK_EVERY = 0.1  # seconds between looks at the heartbeats
# A death is dated when its witness comes to write it down. One that has to wait for others would date it
# after the start of the next run, which may begin within milliseconds.
PROMPT = 0.000_1  # seconds that another thread may keep it from running
FIRST = -10  # its priority among all processes, where that may be had

LINE = "CHAOS_WITNESS"  # where to hold a line to it

Note = Callable[..., float]

_PEER = struct.Struct("3i")  # who is at the other end of a line: pid, user, group
_held: dict[int, socket.socket] = {}  # by the process: a fork has to hold one of its own


def hold_line() -> None:
    """Be seen to die, where somebody looks."""
    path = os.environ.get(LINE)
    if path and os.getpid() not in _held:
        _held[os.getpid()] = line = socket.socket(socket.AF_UNIX)
        line.connect(path)


class Witness(AbstractContextManager["Witness"]):
    """Writes `dead` and `beat` lines into the history, from threads of its own."""

    def __init__(self, note: Note, workers: Callable[[], Iterable[Any]], door: Path) -> None:
        self._note = note
        self._workers = workers
        self._over = threading.Event()
        self._poll = select.epoll()
        self._pids: dict[int, int] = {}  # by the file that tells of the death
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(door))
        self._door.listen(128)
        self._poll.register(self._door, select.EPOLLIN)
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
        self._door.close()
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
                self._expect(fd, pid)

    def _expect(self, fd: int, pid: int) -> None:
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
            if fd == self._door.fileno():
                line, _ = self._door.accept()
                pid, _, _ = _PEER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
                self._expect(line.detach(), pid)
                continue
            self._note("dead", pid=self._pids.pop(fd))
            self._poll.unregister(fd)  # closing is not enough while a process just forked holds it too
            os.close(fd)

    def _beats(self) -> None:
        for worker in self._workers():
            if worker.expires_at not in (None, self._until.get(worker.id)):
                self._until[worker.id] = worker.expires_at
                self._note("beat", worker=worker.id, until=worker.expires_at.timestamp())
        self._over.wait(LOOK_EVERY)
