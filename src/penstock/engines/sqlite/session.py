"""What a verb works with: a connection, the time, and (for writes) what it changes on the side."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.engines.sqlite.beats import Beats
from penstock.engines.sqlite.statements import SQL
from penstock.model.lanes import is_limited, is_parked
from penstock.model.states import State

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

DEAD = "dead"
_WAITING, _ACTIVE = State.WAITING.value, State.ACTIVE.value


class Session:
    """A look at the database at one time."""

    def __init__(self, connection: sqlite3.Connection, beats: Beats | None, now: int) -> None:
        self.connection = connection
        self._beats = beats
        self.now = now
        self.pending: Counter[tuple[str, str]] = Counter()  # by queue and state: counted, not written yet

    @property
    def beats(self) -> Beats:
        assert self._beats is not None, "a lent connection has none"
        return self._beats

    def rows(self, name: str, values: Values = ()) -> list[sqlite3.Row]:
        """All rows of a named statement."""
        return self.connection.execute(SQL[name], values).fetchall()

    def row(self, name: str, values: Values = ()) -> sqlite3.Row | None:
        found = self.rows(name, values)
        return found[0] if found else None


class Tx(Session):
    """One write verb inside the transaction of its batch."""

    def __init__(self, connection: sqlite3.Connection, beats: Beats | None, now: int) -> None:
        super().__init__(connection, beats, now)
        self.woken: set[str] = set()  # queues that got waiting jobs
        self.fold_log = False  # checkpoint before this verb is acknowledged
        self.lanes: dict[str, list[int]] = {}  # limited ones: how many more wait and run
        self.has_groups: bool | None = None  # whether anything is limited; None: nobody has looked
        self.needs: dict[str, tuple[str, ...]] | None = None  # breakers, by group; None: likewise
        self.ahead: dict[str, int] | None = None  # by queue, see `turns`; None: likewise
        self.ran: Counter[tuple[str, str]] = Counter()  # how many more run, by queue and lane
        self._parked: Counter[str] = Counter()
        self._shelves: Counter[tuple[str, str]] = Counter()

    def change(self, name: str, values: Values = ()) -> int:
        """Run a named statement; how many rows it changed."""
        return self.connection.execute(SQL[name], values).rowcount

    def change_many(self, name: str, values: Iterable[Values]) -> None:
        self.connection.executemany(SQL[name], values)

    def count(self, queue: str, state: str, lane: str, by: int) -> None:
        """Note that `by` jobs more (or fewer) are in this state."""
        self.pending[queue, state] += by
        if state == _WAITING:
            if by > 0:
                self.woken.add(queue)
            if is_parked(lane):
                self._parked[lane] += by
            elif is_limited(lane):
                self.touch(lane)[0] += by
        elif state == _ACTIVE:
            self.ran[queue, lane] += by
            if is_limited(lane):
                self.touch(lane)[1] += by

    def touch(self, lane: str) -> list[int]:
        """Have a limited lane looked at; how many more wait and run in it."""
        return self.lanes.setdefault(lane, [0, 0])

    def count_dead(self, queue: str, by: int) -> None:
        self.pending[queue, DEAD] += by

    def shelve(self, queue: str, state: str, shelf: str | None, by: int) -> None:
        """Note that finished jobs of a queue count on another shelf than its own; None: on none."""
        if shelf != queue:
            self._shelves[queue, state] -= by
            if shelf is not None:
                self._shelves[shelf, state] += by

    def part(self) -> Tx:
        """For what may be undone by itself: what that counts counts only once it is absorbed."""
        return Tx(self.connection, self._beats, self.now)

    def absorb(self, part: Tx) -> None:
        """Take over what a part has counted."""
        self.woken |= part.woken
        for mine, its in zip(self._counters(), part._counters(), strict=True):
            mine.update(its)
        for lane, (waiting, active) in part.lanes.items():
            touched = self.touch(lane)
            touched[0] += waiting
            touched[1] += active

    def _counters(self) -> tuple[Counter[Any], ...]:
        return self.pending, self.ran, self._parked, self._shelves

    def finish(self) -> None:
        """Write the sums of what was counted."""
        sums = [(queue, str(state), n) for (queue, state), n in self.pending.items() if n]
        if sums:
            self.change_many("counts_add", sums)
        if self._parked:
            self.change_many("lanes_add", [(n, lane) for lane, n in self._parked.items()])
        if self._shelves:
            self.change_many("shelves_add", [(*named, n) for named, n in self._shelves.items() if n])
        self.pending.clear()
        self._parked.clear()
        self._shelves.clear()
