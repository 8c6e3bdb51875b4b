"""The statements and migrations, with the schema's name written in once. Values are always bound."""

from __future__ import annotations

import re
from functools import lru_cache

from penstock.engines import statements
from penstock.model.names import check_schema

_PACKAGE = "penstock.engines.postgres"
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_PART = re.compile(r"\{(_\w+)\}")


@lru_cache
def catalog(schema: str) -> dict[str, str]:
    """Every statement by the name of its file; `{_part}` stands for the text of that file."""
    return _filled(statements.load(_PACKAGE), schema)


@lru_cache
def migrations(schema: str) -> dict[str, str]:
    """Every migration by name, in order."""
    return _filled(statements.load(_PACKAGE, "migrations"), schema)


def _filled(texts: dict[str, str], schema: str) -> dict[str, str]:
    schema = check_schema(schema)
    parts = statements.load(_PACKAGE)

    def fill(text: str) -> str:
        bare = _COMMENT.sub("", text).strip()
        return _PART.sub(lambda part: fill(parts[part[1]]), bare).replace("{schema}", schema)

    return {name: fill(text) for name, text in texts.items()}
