"""The inside of a warm process: the app is loaded, nothing runs; it bears children, and tells how they end.

The worker sends one byte for each child it wants, and with it the child's end of a line between the two. The
child's guard writes how it ended over that end, and so does this process when the guard has died.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from penstock.runtime import solo_child
from penstock.runtime.forking import fork, load_to_fork
from penstock.runtime.guard import guarded, kill_group, last_words
from penstock.runtime.orphan import begin_below
from penstock.runtime.spawning import spawn
from penstock.tasks.task import Task


def main(app_ref: str, fd: int, parent: int, *life: int) -> None:
    """Of a warm process that loads the app by itself. It holds `life` open for as long as it lives."""
    for held in life:
        os.set_inheritable(held, False)
    begin_below(parent)
    app, may_fork = load_to_fork(app_ref)
    control = socket.socket(fileno=fd)
    nursery = Forking(control, app.tasks) if may_fork else Spawning(control, app_ref, life)
    nursery.serve()
    os._exit(0)  # whatever else the app has started


class Nursery(ABC):
    """The children that live, each with a guard in between, and the line of each."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lines: dict[int, socket.socket] = {}
        self._died, self._alarm = socket.socketpair()
        self._alarm.setblocking(False)
        self._before = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._alarm.fileno(), warn_on_full_buffer=False)

    @abstractmethod
    def bear(self, line: socket.socket) -> int:
        """Start a child at this end of a line; the pid of its guard."""

    def serve(self) -> None:
        """Until the worker is gone; then no child stays behind."""
        while True:
            ready, _, _ = select.select([self._control, self._died], [], [])
            if self._died in ready:
                self._died.recv(4096)
                self._bury()
            if self._control in ready and not self._answer():
                break
        for pid in self._lines:
            kill_group(pid)

    def _answer(self) -> bool:
        """Bear the child that is asked for; False where nobody will ask any more."""
        try:
            asked, fds, _, _ = socket.recv_fds(self._control, 1, 1)
        except ConnectionError:
            return False
        for fd in fds:  # none came where too many files are open: the worker sees the line closed
            os.set_inheritable(fd, False)
            self._begin(socket.socket(fileno=fd))
        return bool(asked)

    def _begin(self, line: socket.socket) -> None:
        try:
            self._lines[self.bear(line)] = line
        except OSError as error:  # too many processes: as above
            print(f"penstock: no child process could be started: {error}", file=sys.stderr)
            line.close()

    def _bury(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._tell(ended[0], os.waitstatus_to_exitcode(ended[1]))

    def _tell(self, pid: int, code: int) -> None:
        """The last message on a line; news only where a guard has died before its child."""
        line = self._lines.pop(pid, None)
        if line is None:  # the app's own, started while it was loaded
            return
        with line:
            last_words(line, {"ended": code, "unguarded": True})


class Forking(Nursery):
    """Children are copies of this process, ready within milliseconds."""

    def __init__(self, control: socket.socket, tasks: Mapping[str, Task[..., Any]]) -> None:
        super().__init__(control)
        self._tasks = tasks
        gc.freeze()  # a collection would write to what the children share

    def bear(self, line: socket.socket) -> int:
        parent = os.getpid()

        def live() -> None:
            self._leave()
            begin_below(parent)
            guarded(lambda: solo_child.serve(self._tasks, line), line)

        return fork(live)

    def _leave(self) -> None:
        """A child holds nothing of its parent's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._before or signal.SIG_DFL)
        for held in (self._control, self._died, self._alarm, *self._lines.values()):
            held.close()


class Spawning(Nursery):
    """Children load the app by themselves: what it does while it is loaded must not be copied."""

    def __init__(self, control: socket.socket, app_ref: str, life: tuple[int, ...]) -> None:
        super().__init__(control)
        self._app_ref = app_ref
        self._life = life

    def bear(self, line: socket.socket) -> int:
        fds = (line.fileno(), *self._life)
        return spawn(solo_child.__name__, self._app_ref, fds[0], os.getpid(), *self._life, fds=fds)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
