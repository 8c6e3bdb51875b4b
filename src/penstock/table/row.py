"""A row of the user's table, as its handler sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class Row(Mapping[str, Any]):
    """Columns by item and by attribute: `row["total"]`, `row.total`.

    A column that is called like a method of mappings (`items`, `keys`, `values`, `get`) is had by item only.
    """

    __slots__ = ("_columns",)

    def __init__(self, names: Sequence[str], values: Sequence[Any]) -> None:
        self._columns = dict(zip(names, values, strict=True))

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_columns":
            raise AttributeError(name)
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(f"the row has no column {name!r}; it has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Row {', '.join(self._columns)}>"  # never the values: they may be private
