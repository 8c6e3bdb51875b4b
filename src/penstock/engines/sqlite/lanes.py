"""Limited lanes: whose turn it is, and which cannot start anything now.

A lane that may start something stands in one of three lines (`kind`), each in the order of its `turn_key`,
which does not change as time passes: those that owe nothing, by the rank of their first job; those that owe
something, by that rank and the instant until which they owe; and, where that rank is older than counts, by
that instant alone. `changes_at` says when a lane is to be looked at again: to open, or as its age counts no
more. Who has worked off what it owed, by the clock of its queue (`turns`), is found by the instant.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.engine import Group, LaneState
from penstock.engines.sqlite import groups, health, turns
from penstock.engines.sqlite.gauges import Gauge
from penstock.engines.sqlite.groups import GroupRow, load
from penstock.engines.sqlite.instants import SECOND
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.lanes import OLDEST_TURN, TURN_COST, group_of, key_of, queue_of
from penstock.model.limits import NO_LIMIT

OLDEST = int(OLDEST_TURN * SECOND)
COST = int(TURN_COST * SECOND)
REOPENED_AT_ONCE = 1_000

_FREE, _OWING, _OWING_OLD = 0, 1, 2


@dataclass(slots=True)
class LaneRow:
    """A limited lane as it is stored."""

    lane: str
    grp: str
    queue: str
    waiting: int = 0
    active: int = 0
    first_rank: int | None = None
    spent_until: float = 0.0
    cooled_until: int = 0
    owed_until: int = 0
    kind: int | None = None
    turn_key: int | None = None
    changes_at: int | None = None

    def gauge(self, group: GroupRow | None) -> Gauge:
        limit = NO_LIMIT if group is None or key_of(self.lane) is None else group.group.per_key
        return Gauge(limit, self.active, self.spent_until, self.cooled_until)

    def owes(self, clock: int) -> int:
        return max(0, self.owed_until - clock)

    def turn(self, now: int, clock: int) -> int:
        """When its first job's turn is."""
        assert self.first_rank is not None
        return max(self.first_rank, now - OLDEST) + self.owes(clock)

    def place(self, group: GroupRow | None, now: int, clock: int) -> None:
        """Stand in the line where it belongs, or aside."""
        self.kind = self.turn_key = self.changes_at = None
        if not self.waiting or self.first_rank is None:
            return
        gauge = self.gauge(group)
        if gauge.room(now) == 0:
            self.changes_at = gauge.opens_at(now)
        elif not self.owes(clock):
            self.kind, self.turn_key = _FREE, self.first_rank
        elif self.first_rank <= now - OLDEST:
            self.kind, self.turn_key = _OWING_OLD, self.owed_until
        else:
            self.kind, self.turn_key = _OWING, self.first_rank + self.owed_until
            self.changes_at = self.first_rank + OLDEST


def write(tx: Tx) -> None:
    """Write what this verb has changed in limited lanes so far."""
    if not tx.lanes:
        return
    touched, tx.lanes = tx.lanes, {}
    sums: dict[str, list[int]] = {}
    for lane, (waiting, active) in touched.items():
        of_group = sums.setdefault(group_of(lane), [0, 0])
        of_group[0] += waiting
        of_group[1] += active
    tx.has_groups = True
    tx.change_many("groups_add", [(name, queue_of(name), *sums[name]) for name in sums])
    rows = [_row(row) for row in tx.rows("lanes_touched", {"lanes": json.dumps([*touched]), "now": tx.now})]
    for row in rows:
        row.grp, row.queue = group_of(row.lane), queue_of(row.lane)
        row.waiting += touched[row.lane][0]
        row.active += touched[row.lane][1]
    _save(tx, rows, load(tx))


def reopen(tx: Tx, known: Mapping[str, GroupRow]) -> None:
    """Look again at lanes whose time has come."""
    rows = [_row(row) for row in tx.rows("lanes_changing", (tx.now, REOPENED_AT_ONCE))]
    if rows:
        _save(tx, rows, known)


def work_off(tx: Tx, queue: str, known: Sequence[GroupRow]) -> None:
    """Look again at lanes of these groups, all that may start something, that owe nothing any more."""
    turns.forgive(tx, queue, [group.group.name for group in known])
    for group in known:
        values = (group.group.name, turns.clock(tx, queue), REOPENED_AT_ONCE)
        rows = [_row(row) for row in tx.rows("lanes_worked_off", values)]
        _save(tx, rows, {group.group.name: group})


def put_groups(tx: Tx, given: Sequence[Group]) -> None:
    """Declare groups, and look again at all lanes of those that have changed."""
    changed = groups.put_groups(tx, given)
    if changed:
        health.forget_probes(tx)
    for group in changed:
        rows = tx.rows("lanes_of", (group.group.name,))
        _save(tx, [_row(row) for row in rows], {group.group.name: group})


def ready(tx: Tx, group: str, most: int) -> list[LaneRow]:
    """The lanes of a group whose turns are first, in their order."""
    rows = [_row(row) for kind in (_FREE, _OWING, _OWING_OLD) for row in _line(tx, group, kind, most)]
    clock = turns.clock(tx, queue_of(group))
    return sorted(rows, key=lambda row: (row.turn(tx.now, clock), row.first_rank, row.lane))[:most]


def spend(tx: Tx, taken: Sequence[tuple[LaneRow, Gauge, int]]) -> None:
    """So many jobs were taken from each."""
    values = [
        (gauge.spent_until, max(row.owed_until, turns.clock(tx, row.queue)) + n * COST, row.lane)
        for row, gauge, n in taken
    ]
    tx.change_many("lanes_spend", values)


def are_standing(tx: Tx, group: GroupRow) -> bool:
    """Whether jobs of the group wait in lanes where no run must end first."""
    if group.is_queue or not group.waiting:
        return False
    [[found]] = tx.rows("lanes_standing", {"group": group.group.name})
    return bool(found)


def opens_in(tx: Tx, group: GroupRow) -> float | None:
    """Seconds until it is worth asking for a lane of the group that only needs time."""
    row = tx.row("lanes_opening", (group.group.name,))
    if row is None:
        return None
    by_limit = _row(row).gauge(group).closed_for(tx.now) or 0.0
    opens: int = row["changes_at"]
    return max(by_limit, (opens - tx.now) / SECOND, 0.0)


def has_come_free(tx: Tx, lane: str, ended: int, known: Mapping[str, GroupRow]) -> bool:
    """Whether a place in the lane has become free for which one of its jobs waits."""
    group = known.get(group_of(lane))
    if group is None or group.group.per_key.concurrency is None:
        return False
    row = row_of(tx, lane)
    return row is not None and row.waiting > 0 and row.gauge(group).has_come_free(ended)


def row_of(session: Session, lane: str) -> LaneRow | None:
    """A limited lane; None where nothing of it is stored."""
    row = session.row("lane", (lane,))
    return None if row is None else _row(row)


def lanes(session: Session, group: str, limit: int, after: str | None) -> list[LaneState]:
    """Lanes of a group, by name."""
    known = load(session)
    closed = known[group].closed_for(known, session.now) if group in known else 0.0
    values = {"group": group, "now": session.now, "after": after or "", "limit": limit}
    return [_state(session, _row(row), known.get(group), closed) for row in session.rows("lanes", values)]


def _state(session: Session, row: LaneRow, group: GroupRow | None, closed: float | None) -> LaneState:
    own = row.gauge(group).closed_for(session.now)
    opens = None if own is None or closed is None else max(own, closed)
    return LaneState(row.lane, row.waiting, row.active, opens or None)


def _line(tx: Tx, group: str, kind: int, most: int) -> list[sqlite3.Row]:
    return tx.rows("lanes_line", (group, kind, most))


def _save(tx: Tx, rows: Sequence[LaneRow], known: Mapping[str, GroupRow]) -> None:
    for row in rows:
        row.place(known.get(row.grp), tx.now, turns.clock(tx, row.queue))
    tx.change_many("lanes_save", [_values(row) for row in rows])


def _row(row: sqlite3.Row) -> LaneRow:
    return LaneRow(*row)


def _values(row: LaneRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in LaneRow.__slots__)
