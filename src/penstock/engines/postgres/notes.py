"""Notes: small documents that are kept with the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from penstock.engine import Note
from penstock.engine.notes import ABOVE_ALL_KEYS, check_keys, check_kind, check_note, check_page
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call


class Notes(Base):
    """The verbs about notes."""

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        check_note(kind, key, body, ttl, expect)
        values = {"kind": kind, "key": key, "body": body, "expect": expect, "now": self._clock.now()}
        call = Call(self._sql["put_note"], values | {"ttl": None if ttl is None else float(ttl)})
        (rows,) = await self._database.run(call, repeatable=expect is None)
        return rows[0][0] if rows else None

    async def note(self, kind: str, key: str) -> Note | None:
        check_keys(kind, [key])
        rows = await self._do("note", kind=kind, key=key)
        return _note(*rows[0]) if rows else None

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        check_page(kind, after)
        if newest:
            rows = await self._do("notes_newest", kind=kind, limit=limit, after=after or ABOVE_ALL_KEYS)
        else:
            rows = await self._do("notes", kind=kind, limit=limit, after=after or "")
        return [_note(*row) for row in rows]

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        named = check_keys(kind, keys)
        return await self._count("remove_notes", kind=kind, keys=named) if named else 0

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        check_kind(kind)
        return await self._count("forget_notes", kind=kind, older_than=float(older_than), limit=limit)


def _note(kind: str, key: str, body: str, version: int, at: datetime, expires_at: datetime | None) -> Note:
    return Note(kind, key, body, version, at.astimezone(UTC), expires_at and expires_at.astimezone(UTC))
