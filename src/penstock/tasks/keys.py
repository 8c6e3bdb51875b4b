"""Key templates: `key="receipt:{order_id}"` makes the idempotency key from a job's own arguments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from string import Formatter
from typing import Any
from uuid import UUID

from penstock.model.errors import InvalidArguments, InvalidOption, Problem
from penstock.model.names import check_text
from penstock.tasks.signature import Signature


class KeyTemplate:
    """A template whose fields are parameters of its task."""

    __slots__ = ("_defaults", "_fields", "_option", "_parts", "_task", "names", "text")

    def __init__(self, task: str, text: str, signature: Signature, option: str = "key") -> None:
        self.text = text
        self._task = task
        self._option = option
        self._defaults = signature.defaults
        self._parts = _parse(f"{option} template of task {task!r}", text, signature.names)
        self.names = tuple(name for _, name in self._parts if name is not None)
        self._fields = ", ".join(self.names)
        if not self._fields:
            check_text(f"the {option} of task {task!r}", text)

    def render(self, values: Mapping[str, Any]) -> str:
        """The key for these arguments; InvalidArguments where one of them cannot be part of a key."""
        pieces = []
        for literal, name in self._parts:
            pieces.append(literal)
            if name is not None:
                pieces.append(self._piece(name, values[name] if name in values else self._defaults[name]))
        try:
            return check_text("it", "".join(pieces))
        except InvalidOption as error:
            problem = Problem(self._fields, f"makes no {self._option}: {error}")
            raise InvalidArguments(self._task, [problem]) from None

    def _piece(self, name: str, value: Any) -> str:
        kind = type(value)
        if kind is int or kind is str:
            return str(value)
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, str | int | UUID):
            return str(value)
        problem = Problem(
            name, f"is a {kind.__name__}, which cannot be part of the {self._option}; use text or a number"
        )
        raise InvalidArguments(self._task, [problem])


def _parse(what: str, text: str, names: tuple[str, ...]) -> tuple[tuple[str, str | None], ...]:
    try:
        parts = list(Formatter().parse(text))
    except (ValueError, TypeError) as error:
        raise InvalidOption(f"the {what} cannot be read: {error}") from None
    for _, name, spec, conversion in parts:
        if name is not None and (name not in names or spec or conversion):
            takes = ", ".join(f"{{{n}}}" for n in names) or "none, for the task takes no arguments"
            raise InvalidOption(f"the {what} holds {{{name}}}; its fields are parameters: {takes}")
    if not text:
        raise InvalidOption(f"the {what} is empty; leave it out, or name parameters in it")
    return tuple((literal, name) for literal, name, _, _ in parts)
