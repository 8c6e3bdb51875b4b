"""Whose turn it is to watch: one of all processes, by a note that is taken and renewed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from penstock.engine import Engine, Note
from penstock.model.errors import InvalidValue
from penstock.model.values import loads

TURN, ALERTS = "turn", "alerts"


class Turn:
    """Who does not renew it in time loses it. What is written under a turn that was lost must not count:
    the writes themselves are conditional.
    """

    def __init__(self, engine: Engine, holder: str, patience: float) -> None:
        self._engine = engine
        self._holder = holder
        self._patience = timedelta(seconds=patience)
        self._version: int | None = None  # of the note, where it was ours when we last knew
        self.held = False
        self.seen: datetime | None = None  # when somebody, we too, has last looked; by the engine's time

    async def take(self) -> bool:
        """Whether it is ours now."""
        if self._version is not None and await self._put(self._version):
            return True
        note = await self._engine.note(TURN, ALERTS)
        if note is None:
            return await self._put(0)
        told = _read(note)
        holder = told.get("holder")
        if holder not in (self._holder, None) and not await self._is_over(note):
            self.held = False
            return False
        if holder != self._holder:
            self.seen = _time(told.get("seen")) if holder is None else note.at
        return await self._put(note.version)

    async def _is_over(self, note: Note) -> bool:
        """Whether it was not renewed in time."""
        return (await self._engine.due_schedules(0)).now - note.at >= self._patience

    async def _put(self, version: int) -> bool:
        self.held, self._version = True, None  # from here on it may be
        body = json.dumps({"holder": self._holder})
        self._version = await self._engine.put_note(TURN, ALERTS, body, expect=version)
        self.held = self._version is not None
        return self.held

    async def give_back(self) -> None:
        """Let another have it at once, where it is ours."""
        if not self.held:
            return
        note = await self._engine.note(TURN, ALERTS)
        if note is not None and _read(note).get("holder") == self._holder:
            body = json.dumps({"holder": None, "seen": self.seen and self.seen.isoformat()})
            await self._engine.put_note(TURN, ALERTS, body, expect=note.version)


def _read(note: Note) -> dict[str, Any]:
    try:
        told = loads(note.body)
    except InvalidValue:
        return {}
    return told if isinstance(told, dict) else {}


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
