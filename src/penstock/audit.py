"""The audit log: who did what to which, why, and how it was before and after. Nobody takes an entry back."""

from __future__ import annotations

import getpass
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from penstock.engine import Engine, Note
from penstock.model.errors import EngineUnavailable, InvalidOption, PenstockError
from penstock.model.ids import id_range, is_id
from penstock.model.redaction import redacted
from penstock.model.values import readable
from penstock.tasks.ids import new_id

log = logging.getLogger("penstock.audit")

KIND = "audit"
MAX_PAGE = 200
MOST_LOOKED_AT = 2_000  # entries, in one search


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, from where, and why."""

    who: str
    via: str
    why: str | None = None

    @classmethod
    def here(cls, via: str, why: str | None = None) -> Actor:
        """The user of this machine who runs this process."""
        name = "somebody"
        with suppress(OSError, KeyError, ImportError):
            name = getpass.getuser()
        return cls(name, via, why)


@dataclass(slots=True)
class Change:
    """What an action changes, filled in while it is done."""

    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One entry of the log."""

    id: str
    at: datetime  # of its last word
    who: str
    via: str
    action: str
    target: str
    why: str | None
    outcome: str  # "done", "refused: …", "begun": what became of it is not known
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeedFilter:
    """Which entries to list: those that hold each of these words, in small or capital letters."""

    who: str | None = None
    action: str | None = None
    target: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def fits(self, deed: Deed) -> bool:
        """Whether an entry is one of these."""
        words = (self.who, deed.who), (self.action, deed.action), (self.target, deed.target)
        return (
            all(asked is None or asked.lower() in told.lower() for asked, told in words)
            and (self.outcome is None or deed.outcome.startswith(self.outcome))
            and (self.since is None or deed.at >= self.since)
            and (self.until is None or deed.at < self.until)
        )


class Deeds(NamedTuple):
    """A page of what was searched for; `next` is where the next begins, None: all was looked at."""

    entries: list[Deed]
    next: str | None


class Audit:
    """Writes what its actor does, and reads what anybody did."""

    def __init__(self, engine: Engine, actor: Actor) -> None:
        self._engine = engine
        self._actor = actor

    @property
    def who(self) -> str:
        """The one who acts."""
        return self._actor.who

    @asynccontextmanager
    async def action(self, action: str, target: str, why: str | None = None) -> AsyncIterator[Change]:
        """Around an action: one entry, written before it is begun and completed when it has ended."""
        why = self._actor.why if why is None else why
        entry = {
            "who": self._actor.who,
            "via": self._actor.via,
            "action": action,
            "target": target,
            "why": why and redacted(why),
        }
        entry_id, change = new_id(), Change()
        await self._engine.put_note(KIND, entry_id, _text(entry, "begun", change))
        try:
            yield change
        except PenstockError as error:
            if not isinstance(error, EngineUnavailable):
                await self._end(entry_id, _text(entry, f"refused: {type(error).__name__}", change))
            raise
        await self._end(entry_id, _text(entry, "done", change))

    async def _end(self, entry_id: str, text: str) -> None:
        """That the end cannot be written does not undo what was done: the entry says that it was begun."""
        try:
            await self._engine.put_note(KIND, entry_id, text)
        except EngineUnavailable as error:
            log.warning(
                "the end of the action %s is not in the audit log: %s", entry_id, type(error).__name__
            )

    async def entries(self, limit: int = 50, after: str | None = None) -> list[Deed]:
        """One page of the log, newest first; `after` is the last id of the page before."""
        _check(limit, after)
        return [_deed(note) for note in await self._engine.notes(KIND, limit, after, newest=True)]

    async def search(self, where: DeedFilter, limit: int = 50, after: str | None = None) -> Deeds:
        """One page of what fits, newest first, of MOST_LOOKED_AT entries; there may be fewer, and more after.

        `after` is the page before's `next`.
        """
        _check(limit, after)
        first, beyond = id_range(where.since, where.until)
        at, found = after or beyond, list[Deed]()
        for _ in range(MOST_LOOKED_AT // MAX_PAGE):
            page = [_deed(note) for note in await self._engine.notes(KIND, MAX_PAGE, at, newest=True)]
            for deed in page:
                if first is not None and deed.id < first:
                    return Deeds(found, None)
                at = deed.id
                if where.fits(deed):
                    found.append(deed)
                if len(found) == limit:
                    return Deeds(found, at)
            if len(page) < MAX_PAGE:
                return Deeds(found, None)
        return Deeds(found, at)


def _check(limit: int, after: str | None) -> None:
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidOption(f"a page holds 1 to {MAX_PAGE} rows, not {limit}")
    if after is not None and not is_id(after):
        raise InvalidOption(f"{after!r} is not the id of an entry; take the last of the page before")


def _text(entry: dict[str, Any], outcome: str, change: Change) -> str:
    whole = entry | {"outcome": outcome, "before": change.before, "after": change.after}
    return json.dumps(whole, ensure_ascii=True, default=str)


def _deed(note: Note) -> Deed:
    told = readable(note.body)
    names = ("who", "via", "action", "target", "why", "outcome", "before", "after")
    return Deed(id=note.key, at=note.at, **{name: told.get(name) for name in names})
