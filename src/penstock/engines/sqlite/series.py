"""Samples: what workers have counted, by the minute, by the quarter of an hour and since ever."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime

from penstock.engine import SERIES_KEPT, Minute, Quarter, Sample
from penstock.engine.counting import QUARTER, Sums, add, by_queue
from penstock.engines.sqlite.instants import SECOND, instant, micro, stored
from penstock.engines.sqlite.session import Session, Tx

MINUTE = 60 * SECOND
DROPPED = 10_000  # minutes of tasks, in one round


def count(tx: Tx, sums: Sums) -> None:
    """Add to the minute and the quarter that it is, and to the totals."""
    at = tx.now - tx.now % MINUTE
    for (queue, task), measures in sums.items():
        minute = _added(tx.row("minute", (at, queue, task)), measures)
        tx.change("minutes_put", (at, queue, task, minute))
        tx.change("totals_put", (queue, task, _added(tx.row("total", (queue, task)), measures)))
    quarter = tx.now - tx.now % micro(QUARTER)
    for queue, measures in by_queue(sums).items():
        tx.change("quarters_put", (quarter, queue, _added(tx.row("quarter", (quarter, queue)), measures)))


def series(session: Session, since: datetime, until: datetime, queue: str | None) -> list[Minute]:
    """The minutes of this time."""
    rows = session.rows("series", {"since": stored(since), "until": stored(until), "queue": queue})
    return [Minute(instant(at), named, task, json.loads(measures)) for at, named, task, measures in rows]


def quarters(session: Session, since: datetime, until: datetime, queue: str | None) -> list[Quarter]:
    """The quarters of an hour of this time."""
    rows = session.rows("quarters", {"since": stored(since), "until": stored(until), "queue": queue})
    return [Quarter(instant(at), named, json.loads(measures)) for at, named, measures in rows]


def totals(session: Session) -> list[Sample]:
    """All that was ever counted."""
    return [Sample(queue, task, json.loads(measures)) for queue, task, measures in session.rows("totals")]


def drop_old(tx: Tx) -> None:
    """Drop minutes and quarters that are kept no longer."""
    for statement in ("minutes_drop", "quarters_drop"):
        tx.change(statement, (tx.now - micro(SERIES_KEPT), DROPPED))


def _added(row: sqlite3.Row | None, measures: Mapping[str, float]) -> str:
    sums: dict[str, float] = {} if row is None else json.loads(row["measures"])
    add(sums, measures)
    return json.dumps(sums)
