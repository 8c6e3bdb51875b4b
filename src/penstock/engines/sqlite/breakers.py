"""Circuit breakers, for all processes on the file: `penstock.model.breaker` says what they mean."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from penstock.engine import DECLARED_FOR, Entry
from penstock.engines.sqlite.instants import SECOND, instant, micro
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.breaker import (
    FOREVER,
    Breaker,
    BreakerState,
    Circuit,
    Standing,
    as_seen,
    enter,
    forced,
    look,
    report,
    retry_in,
    room,
)

_EXACT = 1e-6  # seconds by which instants may be off that were added up as fractions


@dataclass(slots=True)
class BreakerRow:
    """A breaker as it is stored. As a bound on a group, it lets through what its standing does."""

    breaker: Breaker
    standing: Standing
    changed: bool = False

    def room(self, now: int) -> int | None:
        return room(self.breaker, self.looked_at(now))

    def start(self, now: int, job_id: str, /) -> bool:
        """Whether the job is a probe."""
        standing = self.looked_at(now)
        self._become(enter(standing, job_id))
        return standing.circuit is Circuit.HALF_OPEN

    def closed_for(self, now: int) -> float | None:
        standing = self.looked_at(now)
        if room(self.breaker, standing) != 0:
            return 0.0
        return retry_in(self.breaker, standing, now / SECOND)

    def looked_at(self, now: int) -> Standing:
        return look(self.breaker, self.standing, now / SECOND + _EXACT)

    def enter(self, now: int, permit: str) -> Entry:
        standing = self.looked_at(now)
        if room(self.breaker, standing) == 0:
            return Entry(False, retry_in(self.breaker, standing, now / SECOND))
        self._become(enter(standing, permit, now / SECOND + self.breaker.reset))
        return Entry(True)

    def told(self, now: int, permit: str, healthy: bool | None) -> bool:
        """A run has ended; whether more may start now than before."""
        before = self.looked_at(now)
        self._become(report(self.breaker, before, permit, healthy, now / SECOND))
        return _more(room(self.breaker, before), room(self.breaker, self.standing))

    def probing_jobs(self) -> list[str]:
        return [permit for permit, until in self.standing.probes if until >= FOREVER]

    def _become(self, standing: Standing) -> None:
        self.changed |= standing != self.standing
        self.standing = standing


def load(session: Session) -> dict[str, BreakerRow]:
    """Every breaker, by name."""
    return {row["name"]: _row(row) for row in session.rows("breakers")}


def save(tx: Tx, rows: Iterable[BreakerRow]) -> None:
    """Write how those stand that have changed."""
    changed = {row.breaker.name: row for row in rows if row.changed}
    tx.change_many("breakers_stand", [(_dump(row.standing), name) for name, row in changed.items()])


def put_breakers(tx: Tx, given: Sequence[Breaker]) -> None:
    """Declare breakers; those that are there stand as they stood."""
    fresh = _dump(Standing())
    tx.change_many("breakers_put", [(each.name, json.dumps(asdict(each)), fresh, tx.now) for each in given])


def let_go(tx: Tx) -> None:
    """Drop those that nobody declares any more, and no group needs."""
    tx.change("breakers_drop", (tx.now - micro(DECLARED_FOR),))


def enter_breaker(tx: Tx, name: str, permit: str) -> Entry:
    """Ask to start under a breaker."""
    row = load(tx).get(name)
    if row is None:
        return Entry(True)
    entry = row.enter(tx.now, permit)
    save(tx, [row])
    return entry


def breakers(session: Session) -> list[BreakerState]:
    """Every breaker as it stands."""
    return [_seen(row, session.now) for _, row in sorted(load(session).items())]


def by_hand(tx: Tx, name: str, circuit: Circuit) -> bool:
    """A person says how it stands; False for no such breaker."""
    return tx.change("breakers_stand", (_dump(forced(circuit, tx.now / SECOND)), name)) == 1


def _more(before: int | None, after: int | None) -> bool:
    return before is not None and (after is None or after > before)


def _seen(row: BreakerRow, now: int) -> BreakerState:
    standing = row.looked_at(now)
    since = instant(round(standing.since * SECOND)) if standing.since else None
    return as_seen(row.breaker, standing, now / SECOND, since)


def _row(row: sqlite3.Row) -> BreakerRow:
    standing = Standing(*json.loads(row["standing"]))
    probes = tuple((permit, until) for permit, until in standing.probes)
    return BreakerRow(
        Breaker(**json.loads(row["declared"])),
        standing._replace(circuit=Circuit(standing.circuit), probes=probes),
    )


def _dump(standing: Standing) -> str:
    return json.dumps(standing)
