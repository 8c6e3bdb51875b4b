"""What PostgreSQL's catalog says about the table and its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engines.statements import load
from penstock.table.declared import Table
from penstock.table.names import composed
from penstock.table.shape import Column, Family, Shape
from penstock.table.statements import qualified

Look = Callable[[str, str], list[tuple[Any, ...]]]  # a statement about the relation of this name

_CATALOG = load("penstock.table.postgres", "catalog")


_STRINGS, _ENUMS = "S", "E"  # categories of types
_FAMILIES: dict[str, Family] = {
    "smallint": "integer",
    "integer": "integer",
    "bigint": "integer",
    "timestamp with time zone": "time",
    "timestamp without time zone": "zoneless",
}


def trigger_of(table: Table) -> str:
    return composed(table.name, "penstock_wake")


def read_shape(table: Table, look: Look) -> Shape:
    """What is there now; no columns for what is no table."""
    source = qualified(table, table.table)
    output = None if table.output is None else qualified(table, table.output)
    place = look(_CATALOG["place"], source)
    indexes = look(_CATALOG["indexes"], source)
    made = look(_CATALOG["indexes"], output) if output else []
    return Shape(
        columns=_columns(source, look),
        output=_columns(output, look) if output else {},
        once=any(column == table.source_column for _, _, column in made if column),
        # No index of a partitioned table can be about its id alone.
        unique=None if not place or place[0][2] else frozenset(column for _, _, column in indexes if column),
        indexes=frozenset(name for name, valid, _ in indexes + made if valid),
        invalid=frozenset(name for name, valid, _ in indexes + made if not valid),
        schema=place[0][0] if place else None,
        wakes=(trigger_of(table),) in look(_CATALOG["triggers"], source),
    )


def _columns(name: str, look: Look) -> dict[str, Column]:
    place = look(_CATALOG["place"], name)
    if not place or not place[0][1]:
        return {}
    return {
        column: Column(kind, length, _family(base, category), tuple(labels or ()))
        for column, kind, base, category, length, labels in look(_CATALOG["columns"], name)
    }


def _family(base: str, category: str) -> Family:
    if base in _FAMILIES:
        return _FAMILIES[base]
    if category == _STRINGS and base != "character":  # which fills up with blanks
        return "text"
    return "enum" if category == _ENUMS else "other"
