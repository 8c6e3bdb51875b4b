"""Acting on many dead letters at once: only on exactly those that somebody has looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from penstock.audit import Audit
from penstock.dead_causes import cause_of
from penstock.engine import DeadFilter, Engine, JobFilter, Recovery
from penstock.model.errors import MAX_SECONDS, ActionRefused, InvalidOption
from penstock.tasks.ids import new_id

MOST = 10_000  # dead letters at once
STEP = 200
RECOVER_RATE = 50.0  # jobs per second, so that a thousand dead letters do not come back all at once

BulkAction: TypeAlias = Literal["recover", "purge"]


class Chosen(NamedTuple):
    """The dead letters that match, and the word by which somebody says that these are meant."""

    ids: tuple[str, ...]
    confirm: str


class Bulk:
    """Recovers or removes many dead letters."""

    def __init__(self, engine: Engine, audit: Audit) -> None:
        self._engine = engine
        self._audit = audit

    async def chosen(self, action: BulkAction, where: DeadFilter, cause: str | None = None) -> Chosen:
        """What the action would be done to; ActionRefused where that is more than can be done at once.

        `cause`: only the dead letters of this one, see `DeadCauses`.
        """
        ids: list[str] = []
        where = replace(where, payloads=False)
        seen, after = 0, None
        while page := await self._engine.dead_letters(where, STEP, after):
            seen += len(page)
            after = page[-1].job_id
            ids += [letter.job_id for letter in page if cause in (None, cause_of(letter))]
            if seen > MOST:
                raise ActionRefused(f"more than {MOST:,} dead letters to look at; narrow it down")
        return Chosen(tuple(ids), _word(action, ids))

    async def recover(
        self,
        where: DeadFilter,
        count: int,
        confirm: str,
        *,
        rate: float = RECOVER_RATE,
        cause: str | None = None,
    ) -> list[str]:
        """Recover all that match, due at `rate` jobs per second; the ids of the new jobs."""
        if not 0 < rate <= 100_000:
            raise InvalidOption(f"rate must be more than 0 jobs per second, not {rate!r}")
        ids = await self._confirmed("recover", where, count, confirm, cause)
        made: list[str] = []
        async with self._audit.action("dead letters recover", told(where, cause)) as change:
            change.before = {"dead_letters": len(ids)}
            for n in range(0, len(ids), STEP):
                wanted = [
                    Recovery(dead, new_id(), None, min((n + i) / rate, MAX_SECONDS))
                    for i, dead in enumerate(ids[n : n + STEP])
                ]
                made += [new for new in await self._engine.recover(wanted) if new is not None]
            change.after = {"recovered": len(made)}
        return made

    async def purge(self, where: DeadFilter, count: int, confirm: str, *, cause: str | None = None) -> int:
        """Remove all that match; how many. Their jobs cannot be recovered any more."""
        ids = await self._confirmed("purge", where, count, confirm, cause)
        async with self._audit.action("dead letters purge", told(where, cause)) as change:
            change.before = {"dead_letters": len(ids)}
            removed = 0
            for n in range(0, len(ids), STEP):
                removed += await self._engine.remove_dead_letters(ids[n : n + STEP])
            change.after = {"removed": removed}
        return removed

    async def _confirmed(
        self, action: BulkAction, where: DeadFilter, count: int, confirm: str, cause: str | None
    ) -> Sequence[str]:
        found = await self.chosen(action, where, cause)
        if (len(found.ids), found.confirm) != (count, confirm):
            raise ActionRefused(
                f"{len(found.ids):,} dead letters match, and not just the {count:,} that were confirmed; "
                "nothing was done, look again"
            )
        return found.ids


def _word(action: BulkAction, ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([action, *ids]).encode()).hexdigest()[:16]


def told(where: DeadFilter | JobFilter, cause: str | None = None) -> str:
    """A filter in words."""
    names = (name for name in where.__slots__ if name != "payloads")
    given = {name: value for name in names if (value := getattr(where, name))}
    given |= {"cause": cause} if cause else {}
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "all"
