"""Starting one of our own modules as a process of its own, from a process that may have threads."""

from __future__ import annotations

import os
import sys


def spawn(module: str, *words: object, fds: tuple[int, ...]) -> int:
    """Start `python -m module words…`, which inherits these files; its pid. It is the caller's to reap."""
    for fd in fds:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(
            sys.executable, [sys.executable, "-m", module, *map(str, words)], dict(os.environ)
        )
    finally:
        for fd in fds:
            os.set_inheritable(fd, False)
