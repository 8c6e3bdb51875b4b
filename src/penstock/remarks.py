"""What people write down about dead letters: who, when, and what. Kept as notes of the engine."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from penstock.audit import Audit
from penstock.engine import Engine
from penstock.model.errors import ActionRefused, InvalidOption
from penstock.model.values import readable
from penstock.tasks.ids import new_id

KIND = "remark"
KEPT = 90 * 86_400.0  # seconds
MOST = 100  # about one thing
MAX_TEXT = 2_000  # characters


class Remark(NamedTuple):
    """A person's words."""

    id: str
    at: datetime
    who: str
    text: str


class Remarks:
    """About a dead letter, by the id of its job, or about a cause, by its id."""

    def __init__(self, engine: Engine, audit: Audit) -> None:
        self._engine = engine
        self._audit = audit

    async def about(self, subject: str) -> list[Remark]:
        """The latest, oldest first."""
        # Its keys are behind the subject's own name, and before that of every other subject.
        notes = await self._engine.notes(KIND, MOST, f"{subject}/")
        mine = [note for note in notes if note.key.startswith(f"{subject}/")]
        found = []
        for note in mine:
            told = readable(note.body)
            found.append(Remark(note.key.rpartition("/")[2], note.at, told["who"], told["text"]))
        return found

    async def add(self, subject: str, text: str) -> Remark:
        """Write one down."""
        text = text.strip()
        if not 0 < len(text) <= MAX_TEXT:
            raise InvalidOption(f"a note has 1 to {MAX_TEXT:,} characters")
        if len(await self.about(subject)) >= MOST:
            raise ActionRefused(f"there are {MOST} notes already; they go after {KEPT / 86_400:g} days")
        remark_id = new_id()
        async with self._audit.action("dead letter note", subject):
            body = json.dumps({"who": self._audit.who, "text": text})
            await self._engine.put_note(KIND, f"{subject}/{remark_id}", body, ttl=KEPT)
        return next(each for each in await self.about(subject) if each.id == remark_id)
