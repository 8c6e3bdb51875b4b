"""Priorities are head starts in time: low is late, never starved."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, TypeAlias

from penstock.model.errors import InvalidOption

PriorityName: TypeAlias = Literal["critical", "high", "medium", "low"]


class Priority(IntEnum):
    CRITICAL = 1
    HIGH = 2
    MEDIUM = 3
    LOW = 4

    @classmethod
    def of(cls, value: str | int) -> Priority:
        """Read `"high"`, `2` or `Priority.HIGH`."""
        try:
            return cls[value.upper()] if isinstance(value, str) else cls(value)
        except (KeyError, ValueError):
            names = ", ".join(p.name.lower() for p in cls)
            raise InvalidOption(f"unknown priority {value!r}; use one of {names}") from None


PriorityOption: TypeAlias = Priority | PriorityName | int

# Seconds taken off the due time to get the rank by which a lane is read. Two jobs due at the same time
# start in priority order; a low job waits at most fifteen minutes longer than a critical one due with it.
HEAD_START: dict[Priority, int] = {
    Priority.CRITICAL: 600,
    Priority.HIGH: 120,
    Priority.MEDIUM: 0,
    Priority.LOW: -300,
}
