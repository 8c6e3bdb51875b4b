"""The signals that ask a process to end, answered until it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable

ASKING_TO_END = (signal.SIGTERM, signal.SIGINT)


def answer_by(stop: Callable[[], None], *signals: signal.Signals) -> None:
    """Call `stop` on the running loop for each signal: for those that ask to end, or for these of them.

    A loop's own signal handlers end with the loop: a signal that comes a moment later would kill the process.
    """
    loop = asyncio.get_running_loop()

    def told(*_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is left to be stopped
            loop.call_soon_threadsafe(stop)

    for number in signals or ASKING_TO_END:
        signal.signal(number, told)


def ignore() -> None:
    """The work is done: what still ends is the interpreter, and it takes its handlers down first."""
    for number in ASKING_TO_END:
        signal.signal(number, signal.SIG_IGN)
