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
    schema = check_schema(schema)
    bare = {name: _COMMENT.sub("", text).strip() for name, text in statements.load(_PACKAGE).items()}
    return {
        name: _PART.sub(lambda part: bare[part[1]], text).replace("{schema}", schema)
        for name, text in bare.items()
    }


def migrations(schema: str) -> dict[str, str]:
    """Every migration by name, in order."""
    schema = check_schema(schema)
    texts = statements.load(_PACKAGE, "migrations")
    return {name: text.replace("{schema}", schema) for name, text in texts.items()}
