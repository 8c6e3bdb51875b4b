"""What is asked of an engine's upkeep, and what it has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past one queue keeps. None is no bound of that kind."""

    queue: str
    keep_completed: int | None = 1_000
    keep_failed: int | None = 5_000  # of failed and cancelled jobs together
    max_age: float | None = None  # seconds since the end, completed, failed and cancelled alike
    remember: bool = True  # what is pruned goes to the history


class Outlook(NamedTuple):
    """What upkeep there is to do."""

    due_in: float | None  # seconds until the next delayed job falls due, 0: one is due; None: none will be
    tick_in: float | None  # seconds until the next tick of a schedule is due, likewise
    lost: bool  # a worker is past its time, and not rescued yet
    untidy: bool = False  # more lies about for `tidy` than should


class Reconciled(NamedTuple):
    """What one step of a reconciliation has repaired."""

    dispatched: int = 0  # accepted, and not put into the engine yet
    restored: int = 0  # lost by the engine
    ended: int = 0  # ended in the engine, which only it knew
    after: str | None = None  # where the next step goes on; None: all was compared

    @property
    def repairs(self) -> int:
        return self.dispatched + self.restored + self.ended


class Level(StrEnum):
    """How bad a finding is.

    What is unsafe keeps a worker from starting, unless it is accepted by name; what is unusable cannot even
    be opened, and no accepting helps.
    """

    OK = "ok"
    WARNING = "warning"
    UNSAFE = "unsafe"
    UNUSABLE = "unusable"


class Finding(NamedTuple):
    """One thing that a look at the place where jobs live has found."""

    name: str
    level: Level
    text: str  # what is so; where it is not well, what that means and what to do
