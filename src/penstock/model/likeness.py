"""Which failures are alike: the same task, and the same error but for its ids, numbers and quoted words."""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

from penstock.model.record import summary

MAX_TEXT = 300  # characters of an error that are compared
NO_ERROR = "no error was recorded"

_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"\b(?:0x)?(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b")
_QUOTED = re.compile(r"'[^']{0,200}'|\"[^\"]{0,200}\"")
_NUMBER = re.compile(r"-?\d+(?:[.,:]\d+)*")


class Likeness(NamedTuple):
    """What alike failures have in common."""

    id: str
    error: str


def likeness(task: str, reason: str, error: dict[str, Any] | None) -> Likeness:
    """Of a dead letter: its reason where it has no error."""
    text = _folded(summary(error)) if error else f"{reason}: {NO_ERROR}"
    return Likeness(hashlib.sha256(f"{task}\n{text}".encode(errors="replace")).hexdigest()[:16], text)


def _folded(text: str) -> str:
    text = text[:MAX_TEXT]
    for pattern in (_ID, _QUOTED, _HEX, _NUMBER):
        text = pattern.sub("…", text)
    return text
