"""A worker's warm process, from outside: it has the app loaded, and bears children within milliseconds.

The worker forks it off before it opens anything. Where that could not be, and after it has died, one is
started that loads the app by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from typing import Any

from penstock.model.errors import InvalidOption
from penstock.runtime import warm_process
from penstock.runtime.forking import fork
from penstock.runtime.orphan import begin_below
from penstock.runtime.spawning import spawn
from penstock.tasks.task import Task


class Warm:
    """Keeps a warm process where one is needed. Touched by the event loop only."""

    def __init__(
        self, app_ref: str | None, *, process: WarmProcess | None = None, life: tuple[int, ...] = ()
    ) -> None:
        self._app_ref = app_ref
        self._process = process
        self._life = life
        self._former: list[WarmProcess] = []  # replaced, with children that may still work

    def bear(self) -> socket.socket:
        """Our end of the line to a new child."""
        if self._process is not None:
            try:
                return self._process.bear()
            except OSError:
                self._process.close()
        self._process = self._start()
        return self._process.bear()

    def _start(self) -> WarmProcess:
        if self._app_ref is None:
            raise InvalidOption(
                "running a job in a process of its own needs to know where the app is; "
                "start the worker with `penstock worker --app module:app`"
            )
        return WarmProcess.spawned(self._app_ref, *self._life)

    def replace(self) -> None:
        """Ask this process for no more children; those that it has go on."""
        if self._process is not None:
            self._former.append(self._process)
            self._process = None

    def close(self) -> None:
        self.replace()
        while self._former:
            self._former.pop().close()


class WarmProcess:
    """One of them."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self._control = control

    @classmethod
    def forked(cls, tasks: Mapping[str, Task[..., Any]], board_fd: int) -> WarmProcess:
        """A copy of this process, which must be fit for it."""
        ours, theirs = socket.socketpair()
        parent = os.getpid()

        def live() -> None:
            ours.close()
            os.close(board_fd)
            begin_below(parent)
            warm_process.Forking(theirs, tasks).serve()

        pid = fork(live)
        theirs.close()
        return cls(pid, ours)

    @classmethod
    def spawned(cls, app_ref: str, *life: int) -> WarmProcess:
        """A new process; it and its children hold `life` open for as long as they live."""
        ours, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            pid = spawn(warm_process.__name__, app_ref, fd, os.getpid(), *life, fds=(fd, *life))
        return cls(pid, ours)

    def bear(self) -> socket.socket:
        """Ask for a child: our end of the line to it. OSError where this process has died."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        """End it, and its children with it."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
