"""An answer in which a value cannot be read: the others are."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import Format

from penstock.table.values import Answer, Unreadable


def readable(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Answer:
    """Every value by itself, Unreadable in the place of what the driver cannot give."""
    result = cursor.pgresult
    assert result is not None
    assert cursor.description is not None
    transformer = Transformer(cursor.connection)
    loaders = [
        transformer.get_loader(result.ftype(n), Format(result.fformat(n))).load for n in range(result.nfields)
    ]

    def value(row: int, column: int) -> Any:
        raw = result.get_value(row, column)
        try:
            return None if raw is None else loaders[column](raw)
        except Exception as error:  # noqa: BLE001 - as above
            return Unreadable(_why(error))

    columns = range(result.nfields)
    rows = [tuple(value(row, column) for column in columns) for row in range(result.ntuples)]
    return Answer([c.name for c in cursor.description], rows, cursor.rowcount)


def _why(error: Exception) -> str:
    """Without the value, which may be private."""
    return str(error).partition(":")[0] if isinstance(error, psycopg.DataError) else type(error).__name__
