"""Notes in the ledger: those by which people are let in, and of what they did, must outlive Redis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from penstock.engine import Note
from penstock.engine.notes import ABOVE_ALL_KEYS, check_keys, check_kind, check_note, check_page
from penstock.ledger.database import Database, Say

DROPPED_AT_ONCE = 1_000


class Noting(Protocol):
    """The part of the contract that is about notes."""

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None: ...

    async def note(self, kind: str, key: str) -> Note | None: ...

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]: ...

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int: ...

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int: ...


class LedgerNotes:
    """See `Noting`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        check_note(kind, key, body, ttl, expect)
        now = await self._database.now()
        ends = None if ttl is None else now + timedelta(seconds=ttl)
        values = {"kind": kind, "key": key, "body": body, "expect": expect, "now": now, "expires_at": ends}
        say = Say("change_note" if expect else "put_note", values)
        (rows,) = await self._database.run([say], repeatable=expect is None)
        return int(rows[0][0]) if rows else None

    async def note(self, kind: str, key: str) -> Note | None:
        check_keys(kind, [key])
        values = {"kind": kind, "key": key, "now": await self._database.now()}
        (rows,) = await self._database.run([Say("note", values)])
        return _note(*rows[0]) if rows else None

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        check_page(kind, after)
        name, begin = ("notes_newest", ABOVE_ALL_KEYS) if newest else ("notes", "")
        values = {"kind": kind, "limit": limit, "after": after or begin, "now": await self._database.now()}
        (rows,) = await self._database.run([Say(name, values)])
        return [_note(*row) for row in rows]

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        named = json.dumps([{"key": key} for key in check_keys(kind, keys)], ensure_ascii=False)
        now = await self._database.now()
        (rows,) = await self._database.run([Say("remove_notes", {"kind": kind, "rows": named})])
        return sum(ends is None or ends > now for (ends,) in rows)

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        check_kind(kind)
        before = await self._database.now() - timedelta(seconds=older_than)
        values = {"kind": kind, "before": before, "limit": limit}
        return await self._database.changed(Say("forget_notes", values))

    async def drop(self) -> None:
        """Remove some of those past their time."""
        values = {"now": await self._database.now(), "limit": DROPPED_AT_ONCE}
        await self._database.run([Say("drop_notes", values)])


def _note(kind: str, key: str, body: str, version: int, at: datetime, expires_at: datetime | None) -> Note:
    return Note(kind, key, body, version, at.astimezone(UTC), expires_at and expires_at.astimezone(UTC))
