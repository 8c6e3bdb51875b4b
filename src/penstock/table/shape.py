"""What a database says about the user's tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

# What a column makes of a value. On SQLite: a number where a text can be read as one, or what it is given.
Family: TypeAlias = Literal["text", "enum", "integer", "time", "zoneless", "number", "any", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is declared."""

    type: str
    length: int | None = None  # of text that may not be longer
    family: Family = "text"
    labels: tuple[str, ...] = ()  # the values of an enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The table, its output and their indexes as they are now."""

    columns: Mapping[str, Column]  # of the table; none: there is no such table
    output: Mapping[str, Column] = field(default_factory=dict)
    once: bool = False  # a unique index lets the output have one row per source
    unique: frozenset[str] | None = None  # columns that can have each value once; None: nobody can tell
    indexes: frozenset[str] = frozenset()
    invalid: frozenset[str] = frozenset()  # indexes of which only a failed beginning is there
    schema: str | None = None  # in which the table was found
    wakes: bool = False  # a trigger tells of new rows
    folded: bool = False  # the case of names means nothing, and here they are in lower case

    def column(self, name: str) -> Column | None:
        """A column of the table."""
        return self.columns.get(self._folded(name))

    def is_unique(self, name: str) -> bool:
        """Whether a column of the table can have each value once."""
        return self.unique is not None and self._folded(name) in self.unique

    def of_output(self, name: str) -> Column | None:
        """A column of the output."""
        return self.output.get(self._folded(name))

    def _folded(self, name: str) -> str:
        return name.lower() if self.folded else name
