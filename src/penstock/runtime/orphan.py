"""A child must not outlive its parent, nor answer signals that are for others."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def begin_below(parent: int) -> None:
    """What a process below a worker does first."""
    die_with_parent(parent)
    os.setsid()  # it is killed with whatever it starts
    # A signal to everybody is for the supervisor to answer: a job ends with it, or is killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)  # not ignored: what a handler starts can be ended


def die_with_parent(parent: int) -> None:
    """Ask the system to kill this process when its parent ends; off Linux the closed pipe tells."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
