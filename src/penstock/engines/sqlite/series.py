"""Samples: what workers have counted, by the minute and since ever."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime

from penstock.engine import SERIES_KEPT, Minute, Sample
from penstock.engine.counting import Sums, add
from penstock.engines.sqlite.instants import SECOND, instant, micro, stored
from penstock.engines.sqlite.session import Session, Tx

MINUTE = 60 * SECOND
DROPPED = 10_000  # minutes of tasks, in one round


def count(tx: Tx, sums: Sums) -> None:
    """Add to the minute that it is, and to the totals."""
    at = tx.now - tx.now % MINUTE
    for (queue, task), measures in sums.items():
        minute = _added(tx.row("minute", (at, queue, task)), measures)
        tx.change("minutes_put", (at, queue, task, minute))
        tx.change("totals_put", (queue, task, _added(tx.row("total", (queue, task)), measures)))


def series(session: Session, since: datetime, until: datetime, queue: str | None) -> list[Minute]:
    """The minutes of this time."""
    rows = session.rows("series", {"since": stored(since), "until": stored(until), "queue": queue})
    return [Minute(instant(at), named, task, json.loads(measures)) for at, named, task, measures in rows]


def totals(session: Session) -> list[Sample]:
    """All that was ever counted."""
    return [Sample(queue, task, json.loads(measures)) for queue, task, measures in session.rows("totals")]


def drop_old(tx: Tx) -> None:
    """Drop minutes that are kept no longer."""
    tx.change("minutes_drop", (tx.now - micro(SERIES_KEPT), DROPPED))


def _added(row: sqlite3.Row | None, measures: Mapping[str, float]) -> str:
    sums: dict[str, float] = {} if row is None else json.loads(row["measures"])
    add(sums, measures)
    return json.dumps(sums)
