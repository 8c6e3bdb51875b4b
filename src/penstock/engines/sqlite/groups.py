"""Groups of lanes: what they are declared to be, and how much of it is used."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.engine import DECLARED_FOR, Group, GroupState
from penstock.engines.sqlite import breakers
from penstock.engines.sqlite.breakers import BreakerRow
from penstock.engines.sqlite.gauges import Bound, Gauge
from penstock.engines.sqlite.instants import SECOND, micro
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.lanes import group_of, is_limited, key_of, queue_of
from penstock.model.limits import NO_LIMIT, Limit
from penstock.model.states import State


@dataclass(slots=True)
class GroupRow:
    """A group as it stands; one nobody has declared is there to be counted, or to be cooled down."""

    group: Group
    queue: str
    declared: bool
    waiting: int
    gauge: Gauge
    breakers: Sequence[BreakerRow] = ()

    @property
    def is_queue(self) -> bool:
        return self.group.name == self.queue

    @property
    def is_listed(self) -> bool:
        return self.declared and self.group.bounds_something

    @property
    def is_limited(self) -> bool:
        return self.group.limit != NO_LIMIT or bool(self.group.needs)

    def bounds(self, groups: Mapping[str, GroupRow]) -> list[Bound]:
        """All that may keep its lanes from starting anything: its own, and its queue's."""
        found: dict[int, Bound] = {}  # a breaker that both need is one
        for row in (groups.get(self.queue), self):
            bounds: list[Bound] = [row.gauge, *row.breakers] if row else []
            found |= {id(bound): bound for bound in bounds}
        return [*found.values()]

    def closed_for(self, groups: Mapping[str, GroupRow], now: int) -> float | None:
        """Seconds for which nothing of it starts; None where a run must end first."""
        closed = [bound.closed_for(now) for bound in self.bounds(groups)]
        return None if None in closed else max(seconds for seconds in closed if seconds is not None)


def are_there(tx: Tx) -> bool:
    """Whether anything is limited: mostly nothing is, and then nothing else need be looked at."""
    if tx.has_groups is None:
        [[found]] = tx.rows("groups_any")
        tx.has_groups = bool(found)
    return tx.has_groups


def load(session: Session) -> dict[str, GroupRow]:
    """Every group, by name."""
    found = {row["name"]: _group_row(session, row) for row in session.rows("groups")}
    if any(row.group.needs for row in found.values()):
        known = breakers.load(session)
        for row in found.values():
            row.breakers = [known[name] for name in row.group.needs if name in known]
    return found


def needs(tx: Tx) -> dict[str, tuple[str, ...]]:
    """The breakers that groups need, by group; those without any are left out."""
    if tx.needs is None:
        rows = tx.rows("groups_declared") if are_there(tx) else ()
        declared = [_group(row["name"], row["declared"]) for row in rows]
        tx.needs = {group.name: group.needs for group in declared if group.needs}
    return tx.needs


def put_groups(tx: Tx, groups: Sequence[Group]) -> list[GroupRow]:
    """Declare groups; those that are not what they were before."""
    before = load(tx)
    changed = [group for group in groups if not _is(before.get(group.name), group)]
    tx.change_many("groups_put", [(group.name, queue_of(group.name), _dump(group)) for group in changed])
    tx.change("groups_stamp", {"now": tx.now, "names": json.dumps([group.name for group in groups])})
    after = load(tx)
    tx.woken.update(queue_of(group.name) for group in changed)
    return [after[group.name] for group in changed]


def let_go(tx: Tx) -> None:
    """Drop those that nobody declares any more, or that bound nothing, where nothing uses them."""
    passed = tx.now - micro(DECLARED_FOR)
    tx.change("groups_drop_idle", {"now": tx.now, "passed": passed, "bare": _dump(Group(""))})


def cool(tx: Tx, lane: str, seconds: float) -> None:
    """Nothing starts for a while: of the lane's key, else of its group, else of the queue."""
    until = tx.now + micro(seconds)
    if key_of(lane) is not None and is_limited(lane):
        tx.change("lanes_cool", (until, lane))
    else:
        name = group_of(lane)
        tx.has_groups = True
        tx.change("groups_cool", (name, queue_of(name), until))


def save(tx: Tx, groups: Sequence[GroupRow]) -> None:
    """Write what was spent, and who probes."""
    changed = [row for row in groups if row.gauge.changed]
    tx.change_many("groups_spend", [(row.gauge.spent_until, row.group.name) for row in changed])
    breakers.save(tx, [breaker for row in groups for breaker in row.breakers])


def groups(session: Session) -> list[GroupState]:
    """Every declared group."""
    return [_state(row, session.now) for _, row in sorted(load(session).items()) if row.is_listed]


def _state(row: GroupRow, now: int) -> GroupState:
    cooled = row.gauge.cooled_until - now
    return GroupState(row.group, row.gauge.active, cooled / SECOND if cooled > 0 else None)


def _is(row: GroupRow | None, group: Group) -> bool:
    return row is not None and row.declared and row.group == group


def _group_row(session: Session, row: sqlite3.Row) -> GroupRow:
    group = _group(row["name"], row["declared"])
    active, waiting = row["active"], row["waiting"]
    if row["name"] == row["queue"]:
        active = (row["queue_active"] or 0) + session.pending[row["queue"], State.ACTIVE.value]
        waiting = (row["queue_waiting"] or 0) + session.pending[row["queue"], State.WAITING.value]
    gauge = Gauge(group.limit, active, row["spent_until"], row["cooled_until"])
    return GroupRow(group, row["queue"], row["declared"] is not None, waiting, gauge)


@lru_cache(1_024)
def _group(name: str, declared: str | None) -> Group:
    if declared is None:
        return Group(name)
    limit, per_key, needs = json.loads(declared)
    return Group(name, Limit(*limit), Limit(*per_key), tuple(needs))


def _dump(group: Group) -> str:
    return json.dumps(group[1:])
