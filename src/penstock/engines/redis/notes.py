"""Notes: small documents that are kept with the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from penstock.engine import Note
from penstock.engine.notes import check_keys, check_kind, check_note, check_page
from penstock.engines.redis.inspect import Inspection
from penstock.engines.redis.instants import instant, instant_or_none, micro, number

_HEAD = Struct("<ddd")  # version, when it was written, when it is over: see _notes.lua


class Notes(Inspection):
    """The verbs about notes."""

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        check_note(kind, key, body, ttl, expect)
        keep_for = b"" if ttl is None else number(micro(ttl))
        words = kind.encode(), key.encode(), body.encode(), keep_for
        if expect is None:
            version: int | None = await self._do("put_note", *words, b"")
        else:
            version = await self._do_once("put_note", *words, number(expect))
        return version

    async def note(self, kind: str, key: str) -> Note | None:
        check_keys(kind, [key])
        raw = await self._do("note", kind.encode(), key.encode())
        return None if raw is None else _note(kind, key, raw)

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        check_page(kind, after)
        found: list[Note] = []
        cursor, backwards = (after or "").encode(), b"1" if newest else b"0"
        while len(found) < limit:
            cursor, *rows = await self._do(
                "notes", kind.encode(), cursor, backwards, number(limit - len(found))
            )
            found += [_note(kind, key.decode(), raw) for key, raw in zip(*[iter(rows)] * 2, strict=True)]
            if not cursor:
                break
        return found

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        named = [key.encode() for key in check_keys(kind, keys)]
        removed: int = await self._do("remove_notes", kind.encode(), *named) if named else 0
        return removed

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        check_kind(kind)
        gone: int = await self._do("forget_notes", kind.encode(), number(micro(older_than)), number(limit))
        return gone


def _note(kind: str, key: str, raw: bytes) -> Note:
    version, at, ends = _HEAD.unpack_from(raw)
    return Note(kind, key, raw[_HEAD.size :].decode(), int(version), instant(at), instant_or_none(ends))
