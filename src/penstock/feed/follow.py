"""Signed, short-lived tokens with which somebody may follow one job, and do nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable

from penstock.engine import Engine

KIND = "secret"
KEY = "follow"
TTL = 3_600.0  # seconds for which a token holds
REMEMBERED = 60.0  # seconds for which the secret is not looked up again
PREFIX = "psf_"
MAX_TOKEN = 300  # characters
_SECRET_BYTES = 32
_TOKEN = re.compile(r"psf_(?P<job>[^.]{1,200})\.(?P<expires>[0-9]{1,12})\.(?P<mac>[0-9a-f]{64})")


class FollowTokens:
    """All processes sign with one secret, made by the first that needs it. Without it no token holds."""

    def __init__(self, engine: Engine, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now = now
        self._secret = b""
        self._look_at = 0.0

    async def make(self, job_id: str, ttl: float = TTL) -> str:
        """A token for this job."""
        expires = int(self._now() + ttl)
        return f"{PREFIX}{job_id}.{expires}.{_sign(await self._known(), job_id, expires)}"

    async def check(self, token: str, job_id: str) -> float | None:
        """For how many seconds it holds for this job; None: it does not."""
        found = _TOKEN.fullmatch(token) if len(token) <= MAX_TOKEN else None
        if found is None:
            return None
        expires = int(found["expires"])
        ours = _sign(await self._known(), found["job"], expires)
        left = expires - self._now()
        if hmac.compare_digest(ours, found["mac"]) and found["job"] == job_id and left > 0:
            return left
        return None

    async def _known(self) -> bytes:
        if time.monotonic() >= self._look_at:
            self._secret = await self._found_or_made()
            self._look_at = time.monotonic() + REMEMBERED
        return self._secret

    async def _found_or_made(self) -> bytes:
        while True:
            note = await self._engine.note(KIND, KEY)
            if note is not None:
                return bytes.fromhex(json.loads(note.body)["secret"])
            fresh = json.dumps({"secret": secrets.token_hex(_SECRET_BYTES)})
            await self._engine.put_note(KIND, KEY, fresh, expect=0)


def _sign(secret: bytes, job_id: str, expires: int) -> str:
    text = f"penstock.follow.1\n{expires}\n{job_id}"
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
