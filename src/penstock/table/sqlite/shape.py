"""What an SQLite file says about the table and its output."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.table.declared import Table
from penstock.table.shape import Column, Family, Shape

Look = Callable[..., list[tuple[Any, ...]]]  # a statement and its values

_TABLE = "select 1 from sqlite_master where type = 'table' and name = ? collate nocase"
_COLUMNS = "select name, type, pk from pragma_table_info(?)"
_UNIQUES = 'select name, partial from pragma_index_list(?) where "unique"'
_KEYS = "select name from pragma_index_info(?)"
_INDEXES = "select name from sqlite_master where type = 'index'"
_TEXT = "select sql from sqlite_master where type = 'index' and name = ?"

_AFFINITIES: tuple[tuple[str, Family], ...] = (
    ("INT", "integer"),
    ("CHAR", "text"),
    ("CLOB", "text"),
    ("TEXT", "text"),
    ("BLOB", "any"),
    ("REAL", "other"),
    ("FLOA", "other"),
    ("DOUB", "other"),
)


def read_shape(table: Table, look: Look) -> Shape:
    """What is there now; no columns for what is no table. Names are in lower case, as case means nothing."""
    source = (table.source_column or "").lower()
    return Shape(
        columns=_columns(table.table, look),
        output=_columns(table.output, look) if table.output else {},
        once=table.output is not None and source in _uniques(table.output, look),
        unique=frozenset(_uniques(table.table, look)),
        indexes=frozenset(name for (name,) in look(_INDEXES)),
        folded=True,
    )


def _columns(name: str, look: Look) -> dict[str, Column]:
    if not look(_TABLE, name):
        return {}
    return {column.lower(): Column(kind, family=_family(kind)) for column, kind, _ in look(_COLUMNS, name)}


def _family(kind: str) -> Family:
    """What SQLite makes of a value in such a column: its rules of affinity, in their order."""
    declared = kind.upper()
    for part, family in _AFFINITIES:
        if part in declared:
            return family
    return "number" if declared else "any"


def _uniques(name: str, look: Look) -> set[str]:
    """The columns that can have each value once."""
    keys = [column for column, _, key in look(_COLUMNS, name) if key]
    found = keys if len(keys) == 1 else []
    for index, partial in look(_UNIQUES, name):
        columns = [column for (column,) in look(_KEYS, index)]
        if len(columns) == 1 and columns[0] and (not partial or _all_values(index, columns[0], look)):
            found.append(columns[0])
    return {column.lower() for column in found}


def _all_values(index: str, column: str, look: Look) -> bool:
    """Whether a partial index leaves out nothing but rows without a value."""
    [(sql,)] = look(_TEXT, index)
    condition = rf'where\s+["`\[]?{re.escape(column)}["`\]]?\s+is\s+not\s+null\s*$'
    return bool(re.search(condition, sql, re.IGNORECASE))
