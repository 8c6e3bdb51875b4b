"""Messages: `{{name}}` is replaced by the value of that name, once, and nothing else means anything."""

from __future__ import annotations

import re

from penstock.alerts.names import Value, Values

MAX_MESSAGE = 500  # characters
MAX_VALUE = 130  # a queue's or a task's name, with a few to spare

_PLACE = re.compile(r"\{\{ ?([a-z_]{1,40}) ?\}\}")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def names_in(template: str) -> frozenset[str]:
    """The names between double braces. What is no name there stands for itself."""
    return frozenset(_PLACE.findall(template))


def fill(template: str, values: Values) -> str:
    """The message, on one line."""
    return one_line(_PLACE.sub(lambda found: _text(found[1], values.get(found[1])), template))


def one_line(text: str, most: int = MAX_MESSAGE) -> str:
    """Without what could break a line or hide a part of it; cut where it is too long."""
    seen = _UNSEEN.sub(" ", text)
    return seen if len(seen) <= most else seen[: most - 1] + "…"


def _text(name: str, value: Value) -> str:
    if value is None:
        return "?"
    if isinstance(value, str):
        return one_line(value, MAX_VALUE)
    number = value * 100 if name.endswith("_rate") else value  # a rate is shown as a percentage
    return f"{number:.0f}" if number == round(number) else f"{number:.2f}".rstrip("0").rstrip(".")
