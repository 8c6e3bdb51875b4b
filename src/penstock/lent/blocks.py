"""Whether the transaction that a block began on is still the one that its end would commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.lent.connection import AsyncLent, Lent

if TYPE_CHECKING:
    import sqlite3

_MARK = "select txid_current()::text"
_LOOK = "select txid_current_if_assigned()::text"
_FATE = "select txid_status($1::text::bigint)"


def mark(lent: Lent) -> str:
    """Something by which the open transaction is known again."""
    if lent.dialect == "sqlite":
        lent.lend(_save)
        return ""
    return str(lent.fetch(_MARK)[0][0])


async def amark(lent: Lent | AsyncLent) -> str:
    if isinstance(lent, Lent):
        return mark(lent)
    if lent.dialect == "sqlite":
        await lent.lend(_save)
        return ""
    return str((await lent.fetch(_MARK))[0][0])


def is_same(lent: Lent, marked: str) -> bool:
    """To be asked once, before its end: whether it is still the one that was marked."""
    if lent.dialect == "sqlite":
        return lent.lend(_release)
    return [(marked,)] == lent.fetch(_LOOK)


async def ais_same(lent: Lent | AsyncLent, marked: str) -> bool:
    if isinstance(lent, Lent):
        return is_same(lent, marked)
    if lent.dialect == "sqlite":
        return await lent.lend(_release)
    return [(marked,)] == await lent.fetch(_LOOK)


def is_kept(lent: Lent, marked: str) -> bool:
    """Where all is to be undone: whether it was committed; on SQLite, whether it was ended at all."""
    if lent.dialect == "sqlite":
        return not lent.lend(_release)
    return lent.fetch(_FATE, marked) == [("committed",)]


async def ais_kept(lent: Lent | AsyncLent, marked: str) -> bool:
    if isinstance(lent, Lent):
        return is_kept(lent, marked)
    if lent.dialect == "sqlite":
        return not await lent.lend(_release)
    return await lent.fetch(_FATE, marked) == [("committed",)]


def _save(connection: sqlite3.Connection) -> None:
    from penstock.lent.sqlite import save_block  # noqa: PLC0415 - loaded where such a connection is lent

    save_block(connection)


def _release(connection: sqlite3.Connection) -> bool:
    from penstock.lent.sqlite import release_block  # noqa: PLC0415 - as above

    return release_block(connection)
