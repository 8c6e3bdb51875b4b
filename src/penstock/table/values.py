"""What passes between a store and those who use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from penstock.model.errors import EngineError, NoOp
from penstock.table.row import Row

Output: TypeAlias = Mapping[str, Any] | None  # what a handler returns: columns of the output


class Refused(EngineError):
    """A constraint does not let the row be written."""


class Duplicate(NoOp):
    """The output is there already; the row has been completed."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A claimed row, in the hand of this instance for as long as its token is the row's."""

    id: Any
    token: str
    attempt: int
    made: bool  # its output was there when it was claimed
    row: Row
    unreadable: str | None = None  # why its handler cannot have it


class Unreadable(NamedTuple):
    """In the place of a value that the database holds and its driver cannot read."""

    why: str


class Ready(NamedTuple):
    """A row that is to be completed, with the columns of its output; none: there is no output to write."""

    taken: Taken
    columns: Mapping[str, Any]


class Ended(Enum):
    """What became of a row that was to be completed."""

    COMPLETED = "completed"
    DUPLICATE = "duplicate"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a run that did not complete its row."""

    status: str
    error: str | None = None  # None: what the column says stays
    delay: float | None = None  # seconds until the row may be claimed again
    refund: int = 0


class Recovered(NamedTuple):
    id: Any
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many rows say the same, and about them."""

    status: str | None
    rows: int
    delayed: int = 0  # wait for their next attempt
    stuck: int = 0  # started longer ago than stuck_after
    first: str | None = None  # the least of what they are ordered by
    about: bool = False  # `rows` is an estimate


class Answer:
    """What a statement gave, all of it read."""

    __slots__ = ("_rows", "names", "rowcount")

    def __init__(self, names: Sequence[str], rows: list[tuple[Any, ...]], rowcount: int) -> None:
        self.names = tuple(names)
        self.rowcount = rowcount
        self._rows = rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())
