"""Whether the columns that are there can hold what is kept in them."""

from __future__ import annotations

from typing import NamedTuple

from penstock.model.errors import SchemaMissing
from penstock.table.declared import Table
from penstock.table.shape import Column, Family, Shape


class _Kept(NamedTuple):
    """What is kept in columns, and which families of types can hold it."""

    what: str
    columns: tuple[str, ...]
    postgresql: tuple[Family, ...]
    sqlite: tuple[Family, ...]


_KEPT = (
    _Kept("text", ("status",), ("text", "enum"), ("text", "number", "any")),
    _Kept("text", ("error",), ("text",), ("text", "number", "any")),
    _Kept("text", ("token",), ("text",), ("text", "any")),  # a token may look like a number
    _Kept("integer", ("attempts", "stuck"), ("integer",), ("integer", "number", "any")),
    _Kept("time", ("started", "completed", "retry"), ("time", "zoneless"), ("text", "number", "any")),
)
_SAID = {
    "text": {"postgresql": "text", "sqlite": "text"},
    "integer": {"postgresql": "integer", "sqlite": "integer"},
    "time": {"postgresql": "timestamptz or timestamp, a time", "sqlite": "text, or datetime: a time"},
}


def check_types(table: Table, shape: Shape, dialect: str) -> None:
    """SchemaMissing where a column cannot hold what is to be kept in it: rows would be stuck."""
    for kept in _KEPT:
        for option in kept.columns:
            name = getattr(table.columns, option)
            column = shape.column(name)
            if column is not None and column.family not in getattr(kept, dialect):
                raise SchemaMissing(
                    f"column {name!r} of {table.table!r} is {column.type}, and would have to be "
                    f"{_SAID[kept.what][dialect]}; name another column with {option}_column=, "
                    "or change its type"
                )
    status = shape.column(table.columns.status)
    if status is not None:
        _check_words(table, status)


def _check_words(table: Table, column: Column) -> None:
    words = table.words
    about = f"column {table.columns.status!r} of {table.table!r}"
    for word in (words.queued, words.started, words.completed, words.failed):
        if column.labels and word not in column.labels:
            raise SchemaMissing(
                f"{about}: {word!r} is none of the values of {column.type}: {', '.join(column.labels)}. "
                "Name your words with queued=, started=, completed=, failed="
            )
        if column.length is not None and len(word) > column.length:
            raise SchemaMissing(
                f"{about} has room for {column.length} characters, and {word!r} has more; make it longer, or "
                "name your words with queued=, started=, completed=, failed="
            )
