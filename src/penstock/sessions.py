"""Sessions of people in a browser: begun with a token and over when that is, or by a link that works once."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import replace
from typing import NamedTuple

from penstock.audit import Audit
from penstock.engine import Engine
from penstock.model.access import Principal, Scope
from penstock.model.errors import PenstockError
from penstock.model.values import loads
from penstock.tokens import Tokens

KIND = "session"
INVITATION = "invitation"
INVITED = "psi_"  # what an invitation begins with, as a token does with pst_
LASTS = 12 * 3_600.0  # seconds, of a session and of an invitation that nobody has used
MOST = 20  # of one token; whoever begins another ends the oldest


_GROUP = re.compile(r"[0-9a-z_]{1,16}\.")


class SeesNothing(PenstockError):
    """A token that may not read: a browser could show nothing by it."""


class NewSession(NamedTuple):
    secret: str  # for the cookie: kept nowhere but as a hash
    principal: Principal


class Sessions:
    """What a browser shows instead of the token: it can be taken away, and the token is not in it."""

    def __init__(self, engine: Engine, tokens: Tokens, audit: Audit) -> None:
        self._engine = engine
        self._tokens = tokens
        self._audit = audit

    async def invite(self, name: str) -> str:
        """What begins one session, once, for whoever is at this machine and may do everything here anyway."""
        code = INVITED + secrets.token_urlsafe(16)  # short enough for one line of a terminal
        async with self._audit.action("session invite", name):
            body = json.dumps({"name": name})
            await self._engine.put_note(INVITATION, _key(code), body, ttl=LASTS, expect=0)
        return code

    async def begin(self, shown: str) -> NewSession | None:
        """A new session for whoever has this token or invitation; None where it is neither.

        SeesNothing where it is a token without the scope `read`.
        """
        whose = await (self._invited(shown) if shown.startswith(INVITED) else self._holder(shown))
        principal = None if whose is None else await self._principal(whose)
        if whose is None or principal is None:
            return None
        if not principal.may(Scope.READ):
            raise SeesNothing(f"this token lacks the scope read: it has {_listed(principal)}")
        group = whose.get("token", INVITED)
        await self._make_room(group)
        secret = f"{group}.{secrets.token_urlsafe(32)}"
        await self._engine.put_note(KIND, _key(secret), json.dumps(whose), ttl=LASTS, expect=0)
        return NewSession(secret, principal)

    async def _invited(self, code: str) -> dict[str, str] | None:
        key = _key(code)
        note = await self._engine.note(INVITATION, key)
        if note is None or not await self._engine.remove_notes(INVITATION, [key]):  # of two, one is first
            return None
        return {"name": loads(note.body)["name"]}

    async def _holder(self, token: str) -> dict[str, str] | None:
        found = await self._tokens.find(token)
        return None if found is None else {"token": found.id}

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
        if note is None:
            return None
        principal = await self._principal(loads(note.body))
        if principal is None:
            return None
        ends = [at for at in (note.expires_at, principal.expires_at) if at is not None]
        return replace(principal, expires_at=min(ends, default=None))

    async def _principal(self, whose: dict[str, str]) -> Principal | None:
        if "name" in whose:
            return Principal(name=f"local:{whose['name']}", scopes=frozenset(Scope), all_owners=True)
        token = await self._tokens.token(whose["token"])
        return None if token is None else token.principal

    async def end(self, secret: str) -> None:
        """Whoever shows it from now on is nobody."""
        await self._engine.remove_notes(KIND, [_key(secret)])


def _listed(principal: Principal) -> str:
    return ", ".join(sorted(principal.scopes))


def proof_of(secret: str) -> str:
    """What a page of ours knows of its session, and a page from elsewhere does not."""
    return hashlib.sha256(f"proof:{secret}".encode()).hexdigest()


def _key(secret: str) -> str:
    """Of a session it begins with the token's id, so that those of one stand together."""
    group = _GROUP.match(secret)
    digest = hashlib.sha256(secret.encode(errors="replace")).hexdigest()
    return f"{group[0]}{digest}" if group else digest
