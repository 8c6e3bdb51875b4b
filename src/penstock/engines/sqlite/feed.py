"""The feed: what happened to jobs, for those who watch. One writes at a time: numbers are in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import FEED_KEPT, FeedPage, JobEvent
from penstock.engine.feeding import has_gap
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.session import Session, Tx


def publish(tx: Tx, events: Sequence[JobEvent]) -> None:
    """Tell those who watch. A feed begins at the time, so that it is not taken for one that was before."""
    first, before, dropped = tx.row("feed_state") or (tx.now, tx.now, tx.now)
    last = before + len(events)
    dropped = max(dropped, last - FEED_KEPT)
    tx.change("feed_state_set", (first, last, dropped))
    tx.change_many("feed_add", [(n, tx.now, *event) for n, event in enumerate(events, before + 1)])
    tx.change("feed_drop", (dropped,))


def feed(session: Session, after: int | None, limit: int) -> FeedPage:
    """A piece of the feed."""
    first, last, dropped = session.row("feed_state") or (0, 0, 0)
    if after is None or after > last:
        return FeedPage([], last, after is not None)
    gap = has_gap(after, first=first, last=last, dropped=dropped)
    events = [_event(row) for row in session.rows("feed", (after, limit))]
    return FeedPage(events, events[-1][0] if events else max(after, dropped), gap)


def _event(row: sqlite3.Row) -> tuple[int, datetime, JobEvent]:
    number, at, *told = row
    return number, instant(at), JobEvent(*told)
