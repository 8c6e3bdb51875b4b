"""The book of alerts, kept as notes in the engine: how each stands, what has happened, who watches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from penstock.alerts.life import Event, Phase, Standing
from penstock.alerts.rules import Severity
from penstock.engine import Engine, Note
from penstock.model.errors import InvalidValue
from penstock.model.values import loads
from penstock.tasks.ids import new_id

ALERT = "alert"
LOG = "alert-log"
CHANNEL = "alert-channel"

PAGE = 200
MOST = 5_000  # alerts that are read at once; rules make fewer
LOGGED_AT_ONCE = 50  # events in one note
KEEP_LOG = 30 * 86_400.0  # seconds
MOMENT = 1.0  # second, after which the note of an alert that is over goes by itself

_TIMES = ("since", "fired_at", "clear_at", "resolved_at", "owed_at", "failing_at", "told_at")


class Kept(NamedTuple):
    """An alert as it is kept; None where it is over."""

    standing: Standing | None
    version: int


class Entry(NamedTuple):
    """Something that happened to an alert."""

    at: datetime
    event: Event
    rule: str
    subject: str
    severity: Severity
    message: str


class ChannelState(NamedTuple):
    """How a channel was last reached."""

    name: str
    told_at: datetime | None
    failed_at: datetime | None
    problem: str | None


def key_of(rule: str, subject: str) -> str:
    """The name under which an alert is kept."""
    return f"{rule}/{hashlib.sha256(subject.encode()).hexdigest()[:24]}"


class Book:
    """Every write is conditional on what was read: of two watchers one writes, and only that one tells."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def read(self) -> dict[str, Kept]:
        """Every alert, by key."""
        notes: list[Note] = []
        while len(notes) < MOST:
            page = await self._engine.notes(ALERT, PAGE, notes[-1].key if notes else None)
            notes += page
            if len(page) < PAGE:
                break
        return {note.key: Kept(_standing(note.body), note.version) for note in notes}

    async def write(self, key: str, version: int, standing: Standing | None) -> bool:
        """Keep how an alert stands, where it still is as it was read; False: somebody else was here."""
        body = json.dumps(None if standing is None else _plain(standing))
        ttl = MOMENT if standing is None else None
        return await self._engine.put_note(ALERT, key, body, ttl=ttl, expect=version) is not None

    async def log(self, entries: Sequence[Entry]) -> None:
        """Write what has happened to the history."""
        for first in range(0, len(entries), LOGGED_AT_ONCE):
            told = [_entry_json(entry) for entry in entries[first : first + LOGGED_AT_ONCE]]
            await self._engine.put_note(LOG, new_id(), json.dumps(told), ttl=KEEP_LOG)

    async def history(self, limit: int) -> list[Entry]:
        """What has happened, newest first."""
        found: list[Entry] = []
        after: str | None = None
        while len(found) < limit:
            page = await self._engine.notes(LOG, PAGE, after, newest=True)
            for note in page:
                found += [_entry(told) for told in reversed(loads(note.body))]
            if len(page) < PAGE:
                break
            after = page[-1].key
        return found[:limit]

    async def reached(self, channel: str, now: datetime, problem: str | None) -> None:
        """Keep how a channel was reached."""
        known = await self._engine.note(CHANNEL, channel)
        told = {} if known is None else loads(known.body)
        told |= {"told_at": now.isoformat()} if problem is None else {"failed_at": now.isoformat()}
        told["problem"] = problem
        await self._engine.put_note(CHANNEL, channel, json.dumps(told))

    async def channels(self) -> list[ChannelState]:
        """How the channels were last reached, by name."""
        return [_channel(note) for note in await self._engine.notes(CHANNEL, PAGE)]


def _plain(standing: Standing) -> dict[str, Any]:
    found = asdict(standing)
    for name in _TIMES:
        if found[name] is not None:
            found[name] = found[name].isoformat()
    return {name: value for name, value in found.items() if value not in (None, ())}


def _standing(body: str) -> Standing | None:
    """What cannot be read, as written by another release, is as if it were over."""
    try:
        told = loads(body)
        if not isinstance(told, dict):
            return None
        for name in ("owed", "told"):
            told[name] = tuple(told.get(name, ()))
        for name in _TIMES:
            if name in told:
                told[name] = datetime.fromisoformat(told[name])
        told |= {"severity": Severity(told["severity"]), "phase": Phase(told["phase"])}
        return Standing(**told)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return None


def _entry_json(entry: Entry) -> dict[str, Any]:
    return entry._asdict() | {"at": entry.at.isoformat()}


def _entry(told: dict[str, Any]) -> Entry:
    return Entry(
        datetime.fromisoformat(told["at"]),
        Event(told["event"]),
        told["rule"],
        told["subject"],
        Severity(told["severity"]),
        told["message"],
    )


def _channel(note: Note) -> ChannelState:
    told = loads(note.body)
    return ChannelState(note.key, _time(told, "told_at"), _time(told, "failed_at"), told.get("problem"))


def _time(told: dict[str, Any], name: str) -> datetime | None:
    return datetime.fromisoformat(told[name]) if told.get(name) else None
