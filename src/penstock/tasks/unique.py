"""For how long a job's key keeps others out: what `unique=` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.model.errors import Duration, InvalidOption, in_seconds
from penstock.model.job import RECORD, Window


@dataclass(frozen=True, slots=True)
class Throttle:
    """One job per key in so many seconds, counted from its enqueueing, and no second one while it runs."""

    seconds: Duration


@dataclass(frozen=True, slots=True)
class Debounce:
    """One job per key, when no call with that key has come for so many seconds; the last one wins."""

    seconds: Duration


UniqueName: TypeAlias = Literal["record", "unfinished", "started"]
UniqueOption: TypeAlias = UniqueName | Throttle | Debounce

_NAMED: dict[str, Window] = {
    "record": RECORD,
    "unfinished": Window("unfinished"),
    "started": Window("started"),
}


def window_of(what: str, unique: UniqueOption) -> Window:
    """The window that `unique=` asks for; InvalidOption where there is none such."""
    if isinstance(unique, Throttle | Debounce):
        seconds = in_seconds(f"{type(unique).__name__} of {what}", unique.seconds)
        if not seconds:
            raise InvalidOption(f"{type(unique).__name__} of {what} needs more than 0 seconds")
        return Window("period" if isinstance(unique, Throttle) else "debounce", seconds)
    if not isinstance(unique, str) or unique not in _NAMED:
        names = ", ".join(repr(name) for name in _NAMED)
        raise InvalidOption(
            f"unique= of {what} is {unique!r}; use {names}, Throttle(seconds) or Debounce(seconds)"
        )
    return _NAMED[unique]


def in_words(window: Window) -> str:
    """The window for people."""
    return f"{window.kind} {window.seconds:g} s" if window.seconds else window.kind
