"""Notes: small documents that are kept with the jobs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from penstock.model.errors import InvalidOption, in_seconds
from penstock.model.values import check_json

MAX_NOTE_BYTES = 65_536
MAX_NOTE_KEY = 200  # characters

# Kinds that must not be lost: by them people are let in or kept out, or it is known what was done and said.
LASTING = frozenset({"audit", "door", "hook", "remark", "secret", "session", "token"})

ABOVE_ALL_KEYS = "\U0010ffff" * (MAX_NOTE_KEY + 1)

_KIND = re.compile(r"[a-z][a-z0-9-]{0,39}")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Note(NamedTuple):
    """A note as it stands."""

    kind: str  # what sort of note it is: lower case letters, digits and `-`
    key: str  # which of its kind
    body: str  # JSON text
    version: int  # 1 for the first
    at: datetime  # when this version was written
    expires_at: datetime | None = None


def check_note(kind: str, key: str, body: str, ttl: float | None, expect: int | None) -> None:
    """Raise InvalidOption where this cannot be kept."""
    check_kind(kind)
    check_key(key)
    check_json("a note", body, MAX_NOTE_BYTES)
    if ttl is not None and in_seconds("a note's ttl", ttl) <= 0:
        raise InvalidOption("a note's ttl must be more than 0 seconds")
    if expect is not None and (type(expect) is not int or expect < 0):
        raise InvalidOption("a note's expected version is 0, for none, or the version that was read")


def check_kind(kind: str) -> None:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise InvalidOption(
            f"kind of note {kind!r} is not allowed; use lower case letters, digits and '-', at most 40"
        )


def check_key(key: str) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= MAX_NOTE_KEY or _UNFIT.search(key):
        raise InvalidOption(
            f"the key of a note must be text of 1 to {MAX_NOTE_KEY} characters, without control characters"
        )


def check_page(kind: str, after: str | None) -> None:
    check_kind(kind)
    if after is not None:
        check_key(after)


def check_keys(kind: str, keys: Sequence[str]) -> list[str]:
    """The keys, each once."""
    check_kind(kind)
    for key in keys:
        check_key(key)
    return list(dict.fromkeys(keys))
