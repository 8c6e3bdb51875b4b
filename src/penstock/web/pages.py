"""Keyset pages: `limit` rows after the last of the page before."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from penstock.ops import MAX_PAGE
from penstock.web.shapes.fields import ID

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
After = Annotated[str, Query(pattern=ID)]


def following(ids: list[str], limit: int) -> str | None:
    """Where the next page begins; None where this was the last."""
    return ids[-1] if len(ids) == limit else None
