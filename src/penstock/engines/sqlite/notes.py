"""Notes: small documents that are kept with the jobs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from penstock.engine import Note
from penstock.engine.notes import ABOVE_ALL_KEYS
from penstock.engines.sqlite.instants import instant, micro
from penstock.engines.sqlite.session import Session, Tx


def put_note(tx: Tx, kind: str, key: str, body: str, *, ttl: float | None, expect: int | None) -> int | None:
    """Keep a note; its version, None where another is there than expected."""
    found = note(tx, kind, key)
    version = found.version if found else 0
    if expect is not None and expect != version:
        return None
    expires = None if ttl is None else tx.now + micro(ttl)
    tx.change("notes_put", (kind, key, body, version + 1, tx.now, expires))
    return version + 1


def note(session: Session, kind: str, key: str) -> Note | None:
    row = session.row("note", {"kind": kind, "key": key, "now": session.now})
    return None if row is None else _note(row)


def notes(session: Session, kind: str, limit: int, after: str | None, *, newest: bool) -> list[Note]:
    """A page of the notes of a kind."""
    values = {"kind": kind, "limit": limit, "now": session.now}
    if newest:
        rows = session.rows("notes_newest", values | {"after": after or ABOVE_ALL_KEYS})
    else:
        rows = session.rows("notes", values | {"after": after or ""})
    return [_note(row) for row in rows]


def remove_notes(tx: Tx, kind: str, keys: Sequence[str]) -> int:
    """Remove notes; those past their time were not there."""
    rows = tx.rows("notes_remove", (kind, json.dumps(keys)))
    return sum(row["expires_at"] is None or row["expires_at"] > tx.now for row in rows)


def forget_notes(tx: Tx, kind: str, older_than: float, limit: int) -> int:
    """Remove notes that were written long ago."""
    return tx.change("notes_forget", {"kind": kind, "before": tx.now - micro(older_than), "limit": limit})


def _note(row: sqlite3.Row) -> Note:
    kind, key, body, version, at, expires_at = row
    return Note(kind, key, body, version, instant(at), instant(expires_at))
