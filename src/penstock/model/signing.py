"""Signatures of webhooks: HMAC-SHA-256 over the time and the body, one for each secret."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence

HEADER = "Penstock-Signature"
WINDOW = 300.0  # seconds that a signature is good for


def sign(secrets: Sequence[str], body: bytes, at: int) -> str:
    """The header's value: `t=1767225600,v1=…`, with a `v1` for each secret."""
    return ",".join([f"t={at}", *(f"v1={_digest(secret, body, at)}" for secret in secrets)])


def verify(secrets: Iterable[str], header: str, body: bytes, now: float, window: float = WINDOW) -> bool:
    """Whether one of the secrets has signed this body, not longer ago than the window."""
    if not is_timely(header, now, window):
        return False
    at, parts = signed_at(header), _parts(header)
    given = [value.encode() for name, _, value in parts if name == "v1"]
    found = False
    for secret in secrets:  # all are compared, so that the time taken tells nothing
        expected = _digest(secret, body, at).encode()
        for each in given:
            found |= hmac.compare_digest(expected, each)
    return found


def is_timely(header: str, now: float, window: float = WINDOW) -> bool:
    """Whether a header names one time that is within the window; who has signed it is not known yet."""
    times = [value for name, _, value in _parts(header) if name == "t"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit() and len(times[0]) <= 12):
        return False
    return abs(now - int(times[0])) <= window


def signed_at(header: str) -> int:
    """The time in a header that is timely."""
    return int(next(value for name, _, value in _parts(header) if name == "t"))


def _parts(header: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in header.split(",")[:10]]


def _digest(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
