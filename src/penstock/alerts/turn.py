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
        self.held = False
        self.seen: datetime | None = None  # when somebody, we too, has last looked

    async def take(self, now: datetime) -> bool:
        """Whether it is ours now. Both times are the engine's."""
        note = await self._engine.note(TURN, ALERTS)
        told = {} if note is None else _read(note)
        held = note is not None and told.get("holder") not in (self._holder, None)
        if note is not None and held and now - note.at < self._patience:
            self.held = False
            return False
        self.held = True  # from here on it may be
        body = json.dumps({"holder": self._holder, "seen": now.isoformat()})
        version = 0 if note is None else note.version
        self.held = await self._engine.put_note(TURN, ALERTS, body, expect=version) is not None
        self.seen = _time(told.get("seen"))
        return self.held

    async def give_back(self) -> None:
        """Let another have it at once, where it is ours."""
        if not self.held:
            return
        note = await self._engine.note(TURN, ALERTS)
        if note is not None and (told := _read(note)).get("holder") == self._holder:
            body = json.dumps(told | {"holder": None})
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
