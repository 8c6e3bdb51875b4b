"""One call of the engine: what it is about, and how much goes into it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from penstock.engine import Settlement, Want
from penstock.model.outcome import COMPLETED

log = logging.getLogger("penstock.worker")

MAX_SETTLE = 1_000  # settlements in one call
MAX_SETTLE_BYTES = 4 * 1024 * 1024


class Exchange(NamedTuple):
    """What one call of the engine is about."""

    ends: list[Settlement]
    want: Want | None
    again: bool  # an earlier settle of these ends may have succeeded
    news: int  # how often there had been news of work when it was begun
    patience: float | None = None  # seconds for which it may wait for work; None: it is done at once
    alone: bool = False  # a single end, because the engine has refused it before


def take_ends(waiting: deque[Settlement]) -> list[Settlement]:
    """As many as fit into one call."""
    ends: list[Settlement] = []
    size = 0
    while waiting and len(ends) < MAX_SETTLE and size < MAX_SETTLE_BYTES:
        end = waiting.popleft()
        if end.outcome is not COMPLETED or end.then:
            size += len(end.outcome.result or "") + len(end.outcome.error or "")
            size += sum([len(job.args) for job in end.then])
        ends.append(end)
    return ends


def soonest_again(ends: Sequence[Settlement]) -> float:
    """The seconds after which the first of these jobs falls due again; 0 where none does."""
    delays = [end.outcome.delay for end in ends if end.outcome is not COMPLETED]
    return min(filter(None, delays), default=0.0)


def passed_on(ends: Sequence[Settlement], accepted: Sequence[bool]) -> int:
    """How many of these jobs were others' by then."""
    late = [end for end, written in zip(ends, accepted, strict=True) if not written]
    for end in late:
        log.warning("settlement refused: job %s had passed on (token %s)", end.id, end.token)
    return len(late)
