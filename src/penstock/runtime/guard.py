"""A guard between a warm process and each child: a job that kills its parent kills no other."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from penstock.runtime.forking import fork
from penstock.runtime.orphan import begin_below
from penstock.runtime.wire import pack


def guarded(live: Callable[[], None], line: socket.socket) -> None:
    """Do `live` in a copy of this process, and tell over the line how it ended."""
    guard = os.getpid()

    def below() -> None:
        begin_below(guard)
        live()

    pid = fork(below)
    _, status = os.waitpid(pid, 0)
    kill_group(pid)  # what it has started and left behind
    last_words(line, {"ended": os.waitstatus_to_exitcode(status)})


def last_words(line: socket.socket, message: dict[str, Any]) -> None:
    """Said after all that a child has said itself, perhaps half a line."""
    with contextlib.suppress(OSError):
        line.send(b"\n" + pack(message), socket.MSG_DONTWAIT)


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
