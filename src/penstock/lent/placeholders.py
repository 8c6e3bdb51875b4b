"""Statements have `$1`, `$2` … for their values; drivers want other marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from penstock.lent.connection import Value

_MARK = re.compile(r"\$(\d+)")


@lru_cache(maxsize=256)
def pyformat(sql: str) -> str:
    """As psycopg reads it: `%(v1)s`."""
    return _MARK.sub(r"%(v\1)s", sql.replace("%", "%%"))


@lru_cache(maxsize=256)
def numbered(sql: str) -> str:
    """As SQLite reads it: `?1`."""
    return _MARK.sub(r"?\1", sql)


def named(values: Sequence[Value]) -> dict[str, Value]:
    """The values by the names that `pyformat` gives them."""
    return {f"v{number}": value for number, value in enumerate(values, 1)}
