"""How many rows of a table have which status, without counting all of a large one."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.errors import EngineError
from penstock.table.store import Store, Tx
from penstock.table.values import Tally

EXACT = 10_000  # rows that are counted one by one, of the table and of each status
PAGES = 200  # of a larger table on PostgreSQL that are looked at
PICKS = 10_000  # places of a larger table on SQLite that are looked at


def tallies(store: Store) -> list[Tally]:
    """The rows by status: counted, or of a table of more than EXACT rows estimated."""
    with store.transaction() as tx:
        [size] = store.ask(tx, "size", most=EXACT + 1).fetchone() or (0,)
        if size <= EXACT:
            return _counted(store, tx)
        try:
            about = dict(store.ask(tx, "sample", pages=PAGES, picks=PICKS).fetchall())
        except EngineError:
            if store.dialect != "sqlite":
                raise
            return _counted(store, tx)  # a table without rowid: nothing can be picked
        return _estimated(store, tx, about)


def _counted(store: Store, tx: Tx) -> list[Tally]:
    return [
        Tally(status=status, rows=rows, delayed=delayed, stuck=stuck, first=_text(first))
        for status, rows, delayed, stuck, first in store.ask(tx, "status", after=store.table.stuck_after)
    ]


def _estimated(store: Store, tx: Tx, about: dict[str | None, int]) -> list[Tally]:
    """What an index finds is counted all the same, while it is not too much."""
    answer = store.ask(tx, "counted", most=EXACT + 1, after=store.table.stuck_after).fetchone()
    assert answer is not None
    waiting, delayed, started, stuck, first = answer
    words = store.table.words
    known = [
        replace(_sure(words.queued, about, waiting, delayed), delayed=delayed, first=_text(first)),
        replace(_sure(words.started, about, started), stuck=stuck),
    ]
    others = [Tally(status=status, rows=rows, about=True) for status, rows in about.items()]
    return sorted((t for t in known + others if t.rows), key=lambda tally: tally.status or "")


def _sure(status: str, about: dict[str | None, int], *parts: int) -> Tally:
    estimate = about.pop(status, 0)
    if any(part > EXACT for part in parts):
        return Tally(status=status, rows=max(estimate, sum(parts)), about=True)
    return Tally(status=status, rows=sum(parts))


def _text(first: object) -> str | None:
    return None if first is None else str(first)
