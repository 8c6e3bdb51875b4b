"""Sessions of people in a browser: begun with a token, and over when that is."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import replace
from typing import NamedTuple

from penstock.engine import Engine
from penstock.model.access import Principal
from penstock.model.values import loads
from penstock.tokens import Tokens

KIND = "session"
LASTS = 12 * 3_600.0  # seconds
MOST = 20  # of one token; whoever begins another ends the oldest


class NewSession(NamedTuple):
    secret: str  # for the cookie: kept nowhere but as a hash
    principal: Principal


class Sessions:
    """What a browser shows instead of the token: it can be taken away, and the token is not in it."""

    def __init__(self, engine: Engine, tokens: Tokens) -> None:
        self._engine = engine
        self._tokens = tokens

    async def begin(self, token: str) -> NewSession | None:
        """A new session for whoever has this token; None where it is none."""
        found = await self._tokens.find(token)
        if found is None:
            return None
        secret = f"{found.id}.{secrets.token_urlsafe(32)}"
        await self._make_room(found.id)
        await self._engine.put_note(KIND, _key(secret), json.dumps({"token": found.id}), ttl=LASTS, expect=0)
        return NewSession(secret, found.principal)

    async def _make_room(self, token_id: str) -> None:
        """End the oldest sessions of a token that has as many as it may."""
        page = await self._engine.notes(KIND, 2 * MOST, f"{token_id}.")
        begun = sorted(
            (note for note in page if note.key.startswith(f"{token_id}.")), key=lambda note: note.at
        )
        if over := begun[: len(begun) - MOST + 1] if len(begun) >= MOST else []:
            await self._engine.remove_notes(KIND, [note.key for note in over])

    async def find(self, secret: str) -> Principal | None:
        """Whose session this is; None where it has ended, or its token has."""
        note = await self._engine.note(KIND, _key(secret))
        token = None if note is None else await self._tokens.token(loads(note.body)["token"])
        if note is None or token is None:
            return None
        ends = min(at for at in (note.expires_at, token.expires_at) if at is not None)
        return replace(token.principal, expires_at=ends)

    async def end(self, secret: str) -> None:
        """Whoever shows it from now on is nobody."""
        await self._engine.remove_notes(KIND, [_key(secret)])


def proof_of(secret: str) -> str:
    """What a page of ours knows of its session, and a page from elsewhere does not."""
    return hashlib.sha256(f"proof:{secret}".encode()).hexdigest()


def _key(secret: str) -> str:
    """Begins with the token's id, so that the sessions of one stand together."""
    token_id = secret.partition(".")[0][:16]
    return f"{token_id}.{hashlib.sha256(secret.encode(errors='replace')).hexdigest()}"
