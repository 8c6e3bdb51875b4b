"""Which names are allowed for queues, tasks and schemas: nothing that needs quoting anywhere."""

from __future__ import annotations

import re

from penstock.model.errors import InvalidOption

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
MAX_TEXT = 255


def check_name(what: str, name: str) -> str:
    """A queue's or task's name: letters, digits, `_`, `.` and `-`, at most 128."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidOption(f"{what} name {name!r} is not allowed; use letters, digits, '_', '.' and '-'")
    return name


def check_schema(name: str) -> str:
    """A schema's or prefix's name: lower case letters, digits and `_`, at most 48."""
    if not isinstance(name, str) or not _SCHEMA.fullmatch(name):
        raise InvalidOption(f"schema {name!r} is not allowed; use lower case letters, digits and '_'")
    return name


def check_text(what: str, text: str) -> str:
    """A key or owner: any text of 1 to 255 characters that every engine can store."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TEXT:
        raise InvalidOption(f"{what} must be text of 1 to {MAX_TEXT} characters")
    if "\x00" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise InvalidOption(f"{what} holds a character that cannot be stored")
    return str.__str__(text)  # a subclass may write itself otherwise
