"""Keys over HTTP: those of one owner never meet those of another."""

from __future__ import annotations

from penstock.model.access import Principal
from penstock.model.names import MAX_TEXT
from penstock.web.refusals import Field, invalid

_APART = "/"


def _before(owner: str | None) -> str:
    """Of no two owners one begins with the other: the first `/` is where it ends."""
    return f"{owner}".replace("%", "%25").replace(_APART, "%2F") + _APART


def stored_key(principal: Principal, key: str | None) -> str | None:
    """The key under which a job is put in: with the owner before it, unless all are the asker's business."""
    if key is None or principal.sees_all:
        return key
    whole = f"{_before(principal.owner)}{key}"
    if len(whole) > MAX_TEXT:
        raise invalid("the key is too long", Field("key", "is too long"))
    return whole


def shown_key(principal: Principal, key: str, job_id: str) -> str | None:
    """A key as its owner gave it; None where none was given."""
    if key == job_id:
        return None
    return key if principal.sees_all else key.removeprefix(_before(principal.owner))
