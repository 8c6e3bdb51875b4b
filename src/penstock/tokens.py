"""API tokens: made once, shown once, kept only as a hash."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from penstock.audit import Audit
from penstock.engine import Engine, Note
from penstock.model.access import EVERYBODY, MAX_QUOTA, Principal, Scope
from penstock.model.errors import Duration, InvalidOption, JobNotFound, in_seconds
from penstock.model.limits import Limit, client_rate, parse_rate
from penstock.model.names import check_text
from penstock.model.values import loads

KIND = "token"
DOOR, CLOSED = "door", "closed"  # the note that there has been a token; nothing removes it
MOST = 1_000  # tokens in all
_SHAPE = re.compile(r"pst_([0-9a-f]{16})_([A-Za-z0-9_\-]{43})")
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token; not the token itself."""

    id: str
    name: str
    scopes: frozenset[Scope]
    owner: str | None
    rate: str | None
    max_waiting: int | None
    created_at: datetime
    expires_at: datetime | None
    digest: str

    @property
    def principal(self) -> Principal:
        rate: Limit | None = None if self.rate is None else client_rate("rate", self.rate)
        every = self.owner == EVERYBODY
        return Principal(
            name=f"token:{self.name}:{self.id}",
            scopes=self.scopes,
            owner=None if every else self.owner,
            all_owners=every,
            expires_at=self.expires_at,
            rate=rate,
            max_waiting=self.max_waiting,
        )


class NewToken(NamedTuple):
    token: Token
    text: str  # shown once: it is kept nowhere


class Tokens:
    """Everything a person may do with tokens."""

    def __init__(self, engine: Engine, audit: Audit) -> None:
        self._engine = engine
        self._audit = audit

    async def create(
        self,
        name: str,
        scopes: Collection[Scope],
        owner: str | None = None,
        *,
        expires_in: Duration | None = None,
        rate: str | None = None,
        max_waiting: int | None = None,
    ) -> NewToken:
        """Make a token. Without the scope admin it needs an owner, whose jobs it sees; `*` is everybody.

        `max_waiting` is how many jobs of that owner may be there unfinished when it puts in another.
        """
        check_text("name", name)
        if not scopes:
            raise InvalidOption(f"a token needs at least one scope: {', '.join(Scope)}")
        if owner is None and Scope.ADMIN not in scopes:
            raise InvalidOption("a token needs an owner, whose jobs it may see; '*' is everybody")
        if max_waiting is not None:
            _check_quota(max_waiting, owner)
        told = {
            "name": name,
            "scopes": sorted(scopes),
            "owner": None if owner is None else check_text("owner", owner),
            "rate": None if rate is None else rate if parse_rate("rate", rate) else None,
            "max_waiting": max_waiting,
        }
        ttl = None if expires_in is None else in_seconds("expires_in", expires_in)
        if ttl == 0:
            raise InvalidOption("expires_in must be more than 0 seconds; leave it out for a token that stays")
        if len(await self.tokens()) >= MOST:
            raise InvalidOption(f"there are {MOST:,} tokens already; revoke some")
        token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        body = json.dumps(told | {"digest": _digest(secret)})
        async with self._audit.action("token create", token_id) as change:
            await self._engine.put_note(DOOR, CLOSED, "{}")
            await self._engine.put_note(KIND, token_id, body, ttl=ttl, expect=0)
            change.after = told
        note = await self._engine.note(KIND, token_id)
        if note is None:
            raise InvalidOption("the token has expired already; give it longer")
        return NewToken(_token(note), f"pst_{token_id}_{secret}")

    async def tokens(self) -> list[Token]:
        """Every token that has not expired, by when it was made."""
        found: list[Note] = []
        after = None
        while page := await self._engine.notes(KIND, 200, after):
            found += page
            after = page[-1].key
        return sorted(map(_token, found), key=lambda token: (token.created_at, token.id))

    async def revoke(self, token_id: str) -> None:
        """End a token: within seconds nobody is let in by it any more."""
        token = await self.token(token_id)
        if token is None:
            raise JobNotFound(f"there is no token {token_id!r}; `penstock token list` shows them")
        async with self._audit.action("token revoke", token_id) as change:
            change.before = {"name": token.name, "owner": token.owner, "scopes": sorted(token.scopes)}
            await self._engine.remove_notes(KIND, [token_id])

    async def token(self, token_id: str) -> Token | None:
        """One token; None where there is none, or no longer."""
        note = await self._engine.note(KIND, token_id) if _ID.fullmatch(token_id) else None
        return None if note is None else _token(note)

    async def any(self) -> bool:
        """Whether there is one at all."""
        return bool(await self._engine.notes(KIND, 1))

    async def ever(self) -> bool:
        """Whether there is one, or has been: from then on nobody is let in without, whatever became of it."""
        return await self._engine.note(DOOR, CLOSED) is not None or await self.any()

    async def find(self, text: str) -> Token | None:
        """The token that this is; None where it is none, or is revoked or past its time."""
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return None
        token = await self.token(shape[1])
        known = token is not None and hmac.compare_digest(token.digest, _digest(shape[2]))
        return token if known else None


def _check_quota(max_waiting: int, owner: str | None) -> None:
    if owner in (None, EVERYBODY):
        raise InvalidOption("max_waiting counts the jobs of one owner; give the token one")
    if not 1 <= max_waiting <= MAX_QUOTA:
        raise InvalidOption(f"max_waiting takes a number from 1 to {MAX_QUOTA:,}, not {max_waiting:,}")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(note: Note) -> Token:
    told = loads(note.body)
    return Token(
        id=note.key,
        name=told["name"],
        scopes=frozenset(map(Scope, told["scopes"])),
        owner=told["owner"],
        rate=told["rate"],
        max_waiting=told["max_waiting"],
        created_at=note.at,
        expires_at=note.expires_at,
        digest=told["digest"],
    )
