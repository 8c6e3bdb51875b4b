"""Which layout the keys have: nothing is made beforehand, a mark says which releases can read them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.engine import Finding, Level
from penstock.model.errors import SchemaMissing, SchemaTooNew

KNOWN = (b"0001_initial",)


def check(schema: str, applied: Iterable[bytes]) -> None:
    """Raise where this release and the keys do not fit."""
    found = set(applied)
    refuse_newer(schema, found)
    if missing := [name.decode() for name in KNOWN if name not in found]:
        raise SchemaMissing(f"prefix {schema!r} lacks {', '.join(missing)}; run `penstock migrate`")


def finding(schema: str, applied: Iterable[bytes]) -> Finding:
    """The same, told. Where there is nothing at all yet, the first use marks it."""
    found = set(applied)
    if not found:
        return Finding(
            "schema", Level.OK, f"there are no keys under {schema!r} yet, the first use makes them"
        )
    try:
        check(schema, found)
    except (SchemaMissing, SchemaTooNew) as error:
        return Finding("schema", Level.UNUSABLE, str(error))
    return Finding("schema", Level.OK, f"the keys under {schema!r} have the layout of this release")


def refuse_newer(schema: str, applied: Iterable[bytes]) -> None:
    if newer := sorted(name.decode() for name in set(applied) - set(KNOWN)):
        raise SchemaTooNew(
            f"prefix {schema!r} has {', '.join(newer)}, which this release does not know; upgrade Penstock"
        )
