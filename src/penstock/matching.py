"""Acting on all jobs that match, and were there when somebody looked. In steps: each is bounded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from penstock.audit import Audit
from penstock.bulk import RECOVER_RATE, told
from penstock.engine import Engine, JobFilter, Recovery
from penstock.model.errors import MAX_SECONDS, ActionRefused, InvalidOption
from penstock.model.ids import is_id
from penstock.model.job import Job
from penstock.model.matched import STATES, Act, is_for
from penstock.model.redaction import redacted
from penstock.model.states import State
from penstock.model.tally import Tally
from penstock.searching import Fit, Searching, fits
from penstock.tasks.ids import new_id
from penstock.veil import Veil

EXAMPLES = 3
PAGE = 200
STEP = 5  # pages that one step looks at
COUNTED = 1_000  # jobs at once that are only counted …
LOOK = 2_000  # … and in one look, which is to answer at once


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would be done to, as far as it is counted.

    Once all are, `confirm` is the word by which somebody says that this is meant.
    """

    cut_off: datetime
    by_state: Mapping[State, int]  # with those of the looks before
    examples: Sequence[Job]  # the first few, in the look that meets them
    next: str | None  # the `after` of the look that follows; None: all are counted
    confirm: str | None

    @property
    def count(self) -> int:
        """How many, exactly where there is no `next`."""
        return sum(self.by_state.values())


@dataclass(frozen=True, slots=True)
class Sure:
    """What somebody has seen in the preview."""

    cut_off: datetime
    count: int
    confirm: str


class Step(NamedTuple):
    """What a step has done; `next`, where there is one, is the `after` of the step that follows."""

    done: int
    left: int  # they were not eligible any more when it came to them
    next: str | None


class _Page(NamedTuple):
    jobs: list[Job]
    read: int  # with those that are not meant
    next: str | None


class Matching:
    """Retries, promotes, cancels or deletes."""

    def __init__(self, engine: Engine, audit: Audit, searching: Searching, veil: Veil) -> None:
        self._engine = engine
        self._audit = audit
        self._searching = searching
        self._veil = veil

    async def preview(self, act: Act, where: JobFilter, fit: Fit, after: str | None = None) -> Preview:
        """Look at what matches now; nothing that comes or changes later will be acted on.

        A look is bounded: where there is a `next` the counting goes on with it, as of the same moment.
        """
        before = await self._tally(after)
        counted, examples = Counter(before.by_state), list[Job]()
        looked, place = 0, before.place or None
        at_once = PAGE if fit.args else COUNTED
        async for page in self._pages(act, where, fit, before.cut_off, place, at_once):
            examples += page.jobs[: max(0, EXAMPLES - counted.total())]
            counted.update(job.state for job in page.jobs)
            looked, place = looked + page.read, page.next
            if looked >= LOOK:
                break
        else:
            place = None
        following = Tally(before.cut_off, place, counted).text() if place else None
        confirm = None if place else _word(act, where, fit, before.cut_off, counted.total())
        return Preview(before.cut_off, counted, await self._shown(examples, where), following, confirm)

    async def _shown(self, examples: Sequence[Job], where: JobFilter) -> Sequence[Job]:
        """With their payloads where those are asked for: of all that are counted they are not read."""
        if where.payloads:
            examples = [await self._engine.get(job.id) or job for job in examples]
        return self._veil.over_all(examples)

    async def _tally(self, after: str | None) -> Tally:
        if after is not None:
            return Tally.read(after)
        return Tally((await self._engine.due_schedules(0)).now, "", {})

    async def step(
        self,
        act: Act,
        where: JobFilter,
        fit: Fit,
        sure: Sure,
        *,
        after: str | None = None,
        done: int = 0,
        rate: float = RECOVER_RATE,
        reason: str | None = None,
    ) -> Step:
        """Act on the next of those that were previewed and are as they were.

        `done` is how many the steps before have done: failed jobs come back `rate` per second.
        """
        if sure.confirm != _word(act, where, fit, sure.cut_off, sure.count):
            raise ActionRefused("this is not what was confirmed; nothing was done, look again")
        if not 0 < rate <= 100_000:
            raise InvalidOption(f"rate must be more than 0 jobs per second, not {rate!r}")
        good = found = looked = 0
        following = after
        async with self._audit.action(f"jobs {act}", _target(where, fit)) as change:
            change.before = {"cut_off": sure.cut_off, "confirmed": sure.count, "after": after}
            async for page in self._pages(act, where, fit, sure.cut_off, after, PAGE):
                delay = (done + good) / rate
                good += await self._do(act, page.jobs, reason or "cancelled by an operator", delay, rate)
                found += len(page.jobs)
                following = page.next
                looked += 1
                if looked == STEP:
                    break
            change.after = {"done": good, "not_eligible": found - good}
        return Step(good, found - good, following)

    async def _pages(
        self,
        act: Act,
        where: JobFilter,
        fit: Fit,
        cut_off: datetime,
        after: str | None,
        most: int,
    ) -> AsyncIterator[_Page]:
        """State by state, newest first; never more than `most` are held at once."""
        self._searching.check(where.task, fit.args)
        states = [state for state in STATES[act] if where.state in (None, state)]
        state, cursor = _place(after, states)
        while state is not None:
            wanted = replace(where, state=state, payloads=bool(fit.args))
            jobs = await self._engine.jobs(wanted, most, cursor)
            meant = [
                job
                for job in jobs
                if is_for(act, job, cut_off, any_state=where.state is None) and fits(job, fit)
            ]
            if len(jobs) == most:
                cursor = jobs[-1].id
            else:
                state, cursor = _following(state, states), None
            yield _Page(meant, len(jobs), None if state is None else f"{state}:{cursor or ''}")

    async def _do(self, act: Act, jobs: Sequence[Job], reason: str, delay: float, rate: float) -> int:
        ids = [job.id for job in jobs]
        if not ids:
            return 0
        match act:
            case "promote":
                return await self._engine.promote(ids)
            case "delete":
                return await self._engine.delete(ids)
            case "cancel":
                states = await self._engine.cancel(ids, redacted(reason))
                return sum(state in (State.CANCELLED, State.ACTIVE) for state in states)
            case "retry":
                if jobs[0].state is State.DELAYED:
                    return await self._engine.promote(ids)
                return await self._recover(ids, delay, rate)

    async def _recover(self, ids: Sequence[str], delay: float, rate: float) -> int:
        wanted = [
            Recovery(dead, new_id(), None, min(delay + n / rate, MAX_SECONDS)) for n, dead in enumerate(ids)
        ]
        made = await self._engine.recover(wanted)
        return sum(new == asked.new_id for new, asked in zip(made, wanted, strict=True))


def _place(after: str | None, states: Sequence[State]) -> tuple[State | None, str | None]:
    if after is None:
        return (states[0] if states else None), None
    name, _, cursor = after.partition(":")
    if name not in states or (cursor and not is_id(cursor)):
        raise ActionRefused("`after` takes the `next` of the look, or step, before; look again")
    return State(name), cursor or None


def _following(state: State, states: Sequence[State]) -> State | None:
    at = states.index(state) + 1
    return states[at] if at < len(states) else None


def _target(where: JobFilter, fit: Fit) -> str:
    return ", ".join([told(where), *([str(fit)] if fit else [])])


def _word(act: Act, where: JobFilter, fit: Fit, cut_off: datetime, count: int) -> str:
    at = cut_off.astimezone(UTC).isoformat()
    seen = [act, asdict(replace(where, payloads=True)), asdict(fit), at, count]
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=str).encode()).hexdigest()[:16]
