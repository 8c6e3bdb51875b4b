"""Dead letters by what they died of: what fails alike is mended alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from penstock.engine import DeadFilter, Engine
from penstock.model.errors import InvalidOption
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter
from penstock.model.likeness import likeness
from penstock.paging import MAX_PAGE

LOOKED_AT = 2_000  # dead letters, in one look
HOURS = 24


@dataclass(slots=True, kw_only=True)
class Cause:
    """Dead letters that are alike."""

    id: str
    task: str
    error: str  # without what differs
    latest: str  # the id of the job that failed last
    count: int = 0
    first_at: datetime
    last_at: datetime
    by_hour: list[int] = field(default_factory=lambda: [0] * HOURS)  # of the last day, the oldest first


class Causes(NamedTuple):
    """Those among the dead letters of one look."""

    causes: Sequence[Cause]  # the most frequent first
    looked: int  # dead letters
    next: str | None  # the `after` of the look that follows; None: that were all


class Found(NamedTuple):
    """One page. It can be short, or empty, and there still be more: then `next` says where to go on."""

    letters: Sequence[DeadLetter]
    next: str | None


class Named(NamedTuple):
    """The ids of dead letters, as far as one look goes."""

    ids: Sequence[str]
    next: str | None


class DeadCauses:
    """Bounded looks at dead letters; the same over every engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self, where: DeadFilter, after: str | None = None) -> Causes:
        """Every cause among the next dead letters that match; `after` is the `next` of the look before."""
        now = (await self._engine.due_schedules(0)).now
        found: dict[str, Cause] = {}
        seen = 0
        async for letter in self._letters(replace(where, payloads=False), _checked(after), LOOKED_AT):
            seen += 1
            after = letter.job_id
            _add(found, letter, now)
        causes = sorted(found.values(), key=lambda cause: (-cause.count, cause.id))
        return Causes(causes, seen, after if seen == LOOKED_AT else None)

    async def ids(self, where: DeadFilter, cause: str | None, after: str | None = None) -> Named:
        """The ids among the next dead letters that match, newest first, as `all`."""
        found: list[str] = []
        seen = 0
        async for letter in self._letters(replace(where, payloads=False), _checked(after), LOOKED_AT):
            seen += 1
            after = letter.job_id
            if cause in (None, cause_of(letter)):
                found.append(letter.job_id)
        return Named(found, after if seen == LOOKED_AT else None)

    async def page(self, where: DeadFilter, cause: str, limit: int, after: str | None) -> Found:
        """The dead letters of one cause, newest first; `after` is the `next` of the page before."""
        found: list[DeadLetter] = []
        seen = 0
        async for letter in self._letters(where, _checked(after), LOOKED_AT):
            seen += 1
            after = letter.job_id
            if cause_of(letter) == cause:
                found.append(letter)
                if len(found) == limit:
                    return Found(found, after)
        return Found(found, after if seen == LOOKED_AT else None)

    async def _letters(self, where: DeadFilter, after: str | None, most: int) -> AsyncIterator[DeadLetter]:
        left = most
        while left > 0:
            step = min(MAX_PAGE, left)
            page = await self._engine.dead_letters(where, step, after)
            for letter in page:
                yield letter
            if len(page) < step:
                return
            left -= step
            after = page[-1].job_id


def _checked(after: str | None) -> str | None:
    if after is not None and not is_id(after):
        raise InvalidOption("`after` takes the `next` of the page before")
    return after


def cause_of(letter: DeadLetter) -> str:
    """The id of the cause of a dead letter."""
    return likeness(letter.task, letter.reason, letter.error).id


def _add(found: dict[str, Cause], letter: DeadLetter, now: datetime) -> None:
    like, at = likeness(letter.task, letter.reason, letter.error), letter.failed_at
    cause = found.get(like.id)
    if cause is None:
        cause = found[like.id] = Cause(
            id=like.id, task=letter.task, error=like.error, latest=letter.job_id, first_at=at, last_at=at
        )
    cause.count += 1
    cause.first_at = min(cause.first_at, at)
    if at > cause.last_at:
        cause.last_at, cause.latest = at, letter.job_id
    ago = (now - at) // timedelta(hours=1)
    if 0 <= ago < HOURS:
        cause.by_hour[HOURS - 1 - ago] += 1
