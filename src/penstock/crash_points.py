"""Named places at which a test can have the process killed: PENSTOCK_CRASH_AT=<point>:<n>, the n-th time.

Between two of them lies one step that other processes can see. Nothing is done where the variable is not set.
"""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "PENSTOCK_CRASH_AT"
POINTS: Final = (
    "transaction-begun",  # ctx.transaction() is open
    "effect-made",  # for handlers of tests: their own statement has been run
    "once-written",  # the record of ctx.once() is written, its transaction open
    "run-completed",  # the job is completed in the open transaction
    "transaction-committed",  # and committed; nobody has been told
    "run-ended",  # a handler has ended, nothing of it is written
    "settling",  # about to tell the engine how runs ended
    "settled",  # the engine has written it; its answer is not dealt with
    "ledger-put",  # with a ledger: the rows of new jobs are written, Redis does not know them
    "ledger-dispatched",  # Redis has them, their rows do not say so
    "ledger-marked",  # they do
    "ledger-claimed",  # Redis has given jobs out, their rows do not say so
    "ledger-started",  # they do; nothing has begun
    "ledger-saving",  # about to save how runs ended
    "ledger-saved",  # it is saved, Redis does not know
    "ledger-settled",  # it does
    "outbox-written",  # rows are written to the outbox, their transaction open
    "outbox-taken",  # a relay has rows in its hand
    "outbox-dispatched",  # the engine has their jobs; they are not marked
    "outbox-marked",  # they are, in an open transaction
    "outbox-served",  # which is committed
)


def _chosen(value: str) -> tuple[str, int] | None:
    if not value:
        return None
    point, _, count = value.partition(":")
    if point not in POINTS or not count.isdecimal():
        raise ValueError(f"{VARIABLE} is {value!r}; write <point>:<n>, a point of {', '.join(POINTS)}")
    return point, int(count)


_chosen_at = _chosen(os.environ.get(VARIABLE, ""))
chosen = _chosen_at is not None  # to be looked at where every job passes
_passed = 0


def passing(point: str) -> None:
    """The process is at this point now."""
    if _chosen_at is not None:
        _pass(point)


def _pass(point: str) -> None:
    global _passed  # noqa: PLW0603 - a process dies once
    assert _chosen_at is not None
    if point == _chosen_at[0]:
        _passed += 1
        if _passed == _chosen_at[1]:
            os.kill(os.getpid(), signal.SIGKILL)


def choose(value: str) -> None:
    """As if the variable were set: for a process that was forked with its modules loaded."""
    global _chosen_at, _passed, chosen  # noqa: PLW0603 - as above
    _chosen_at, _passed = _chosen(value), 0
    chosen = _chosen_at is not None
