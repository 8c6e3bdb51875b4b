"""Copying a process, with the app it has loaded; and whether that may be done."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.tasks.loading import load_app

_FDS = Path("/dev/fd")
_THREADS = Path("/proc/self/task")


def fork(live: Callable[[], None]) -> int:
    """Copy this process; the copy does `live` and ends. The pid of the copy."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or the copy would write once more what is in there
    if pid := os.fork():
        return pid
    code = 1
    try:
        live()
        code = 0
    except BaseException:  # noqa: BLE001 - a copy must never go on as if it were its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def load_to_fork(ref: str) -> tuple[Any, bool]:
    """Load the app; and whether this process may fork, now and as long as nothing else runs in it."""
    before = _connections()
    app = load_app(ref)
    for task in app.tasks.values():
        _ = task.fingerprint  # built once, here, for all that are forked
    return app, _may_fork() and _connections() <= before


def _may_fork() -> bool:
    # The system libraries of macOS start threads of their own, and break when they find themselves copied.
    return sys.platform != "darwin" and _threads() == 1


def _threads() -> int:
    """Those of C libraries too, where the system tells: a lock that one holds stays locked in a copy."""
    try:
        return len(list(_THREADS.iterdir()))
    except OSError:
        return threading.active_count()


def _connections() -> frozenset[int]:
    """What is open both ways, and must not be shared by two: sockets, databases, event loops."""
    found = set()
    for fd in [int(path.name) for path in _FDS.iterdir()]:
        with contextlib.suppress(OSError):  # the listing's own is closed by now
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR:
                found.add(fd)
    return frozenset(found)
