"""Pages of lists: bounded, each behind the last id of the one before."""

from __future__ import annotations

from penstock.model.errors import InvalidOption
from penstock.model.ids import is_id

MAX_PAGE = 200


def page(limit: int) -> int:
    """How many rows, as asked for; InvalidOption where that is no page."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidOption(f"a page holds 1 to {MAX_PAGE} rows, not {limit}")
    return limit


def cursor(after: str | None) -> str | None:
    """Where the page begins; InvalidOption for what is no id."""
    if after is not None and not is_id(after):
        raise InvalidOption(f"{after!r} is not the id of a job; `after` takes the last id of the page before")
    return after
