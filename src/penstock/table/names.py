"""Names that go into SQL: only what is the same thing in every database, and always quoted."""

from __future__ import annotations

import re
from hashlib import sha256

from penstock.model.errors import InvalidOption

MAX_NAME = 63  # PostgreSQL cuts longer ones off without a word
_TAKEN = ("penstock_", "sqlite_", "pg_")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ \-]*", re.ASCII)


def check_identifier(what: str, name: str) -> str:
    """A schema, table or column: ASCII letters, digits and `_`, no digit first, at most 63."""
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidOption(
            f"{what} {_shown(name)} is not allowed: use ASCII letters, digits and '_', "
            f"no digit first, at most {MAX_NAME}"
        )
    return str.__str__(name)  # a subclass may write itself otherwise


def check_table(what: str, name: str) -> str:
    """A table of the user's: none of ours, and none of the database's own."""
    name = check_identifier(what, name)
    if name.lower().startswith(_TAKEN):
        raise InvalidOption(
            f"{what} {_shown(name)} is not allowed: names that begin with {', '.join(_TAKEN)} are Penstock's "
            "and the databases' own; name a table of yours"
        )
    return name


def check_word(what: str, word: str) -> str:
    """What a row's status may be called: ASCII letters, digits, `_`, `-` and spaces, at most 63."""
    if not isinstance(word, str) or len(word) > MAX_NAME or not _WORD.fullmatch(word):
        raise InvalidOption(
            f"the word for {what}, {_shown(word)}, is not allowed: use ASCII letters, digits, '_', '-' and "
            f"spaces, at most {MAX_NAME}"
        )
    return str.__str__(word)


def quoted(*names: str) -> str:
    """Checked names as SQL: `"schema"."table"`."""
    return ".".join(f'"{name}"' for name in names)


def literal(word: str) -> str:
    """A checked word as SQL."""
    return f"'{word}'"


def composed(*parts: str) -> str:
    """One name of several; where it would be too long, its beginning and a digest of the whole."""
    name = "_".join(parts)
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}_{digest(name)}"


def digest(*parts: str) -> str:
    """Short, and the same for the same parts only."""
    return sha256("\0".join(parts).encode()).hexdigest()[:8]


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:77]}…"
