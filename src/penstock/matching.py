"""Acting on all jobs that match, and were there when somebody looked. In steps: each is bounded."""

from __future__ import annotations

import hashlib
import json
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
from penstock.model.states import State
from penstock.searching import Searching, fits
from penstock.tasks.ids import new_id
from penstock.veil import Veil

COUNTED = 10_000  # beyond that it is said that there are more
EXAMPLES = 3
PAGE = 200
STEP = 5  # pages that one step looks at
LOOKS = 100  # pages that a preview looks at


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would be done to, and the word by which somebody says that this is meant."""

    cut_off: datetime
    count: int
    more: bool  # and more than that
    examples: Sequence[Job]
    confirm: str


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
    next: str | None


class Matching:
    """Retries, promotes, cancels or deletes."""

    def __init__(self, engine: Engine, audit: Audit, searching: Searching, veil: Veil) -> None:
        self._engine = engine
        self._audit = audit
        self._searching = searching
        self._veil = veil

    async def preview(
        self, act: Act, where: JobFilter, args: Mapping[str, str], tag: str | None = None
    ) -> Preview:
        """Look at what matches now; nothing that comes or changes later will be acted on."""
        cut_off = (await self._engine.due_schedules(0)).now
        count, looked, examples = 0, 0, list[Job]()
        more = False
        async for page in self._pages(act, where, args, tag, cut_off, None):
            looked += 1
            count += len(page.jobs)
            examples += page.jobs[: EXAMPLES - len(examples)]
            more = page.next is not None
            if more and (count >= COUNTED or looked >= LOOKS):
                break
        confirm = _word(act, where, args, tag, cut_off, count)
        return Preview(cut_off, count, more, self._veil.over_all(examples), confirm)

    async def step(
        self,
        act: Act,
        where: JobFilter,
        args: Mapping[str, str],
        sure: Sure,
        *,
        tag: str | None = None,
        after: str | None = None,
        done: int = 0,
        rate: float = RECOVER_RATE,
        reason: str | None = None,
    ) -> Step:
        """Act on the next of those that were previewed and are as they were.

        `done` is how many the steps before have done: failed jobs come back `rate` per second.
        """
        if sure.confirm != _word(act, where, args, tag, sure.cut_off, sure.count):
            raise ActionRefused("this is not what was confirmed; nothing was done, look again")
        if not 0 < rate <= 100_000:
            raise InvalidOption(f"rate must be more than 0 jobs per second, not {rate!r}")
        good = found = looked = 0
        following = after
        async with self._audit.action(f"jobs {act}", _target(where, args, tag)) as change:
            change.before = {"cut_off": sure.cut_off, "confirmed": sure.count, "after": after}
            async for page in self._pages(act, where, args, tag, sure.cut_off, after):
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
        args: Mapping[str, str],
        tag: str | None,
        cut_off: datetime,
        after: str | None,
    ) -> AsyncIterator[_Page]:
        """State by state, newest first; never more than a page at once is held."""
        if args:
            self._searching.check(where.task, args)
        states = [state for state in STATES[act] if where.state in (None, state)]
        state, cursor = _place(after, states)
        while state is not None:
            wanted = replace(where, state=state, payloads=where.payloads or bool(args))
            jobs = await self._engine.jobs(wanted, PAGE, cursor)
            fit = [
                job
                for job in jobs
                if is_for(act, job, cut_off, any_state=where.state is None) and fits(job, args, tag)
            ]
            if len(jobs) == PAGE:
                cursor = jobs[-1].id
            else:
                state, cursor = _following(state, states), None
            yield _Page(fit, None if state is None else f"{state}:{cursor or ''}")

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
                states = await self._engine.cancel(ids, reason)
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
        raise InvalidOption("`after` takes the `next` of the step before")
    return State(name), cursor or None


def _following(state: State, states: Sequence[State]) -> State | None:
    at = states.index(state) + 1
    return states[at] if at < len(states) else None


def _target(where: JobFilter, args: Mapping[str, str], tag: str | None) -> str:
    by = [f"args.{name} {value}" for name, value in args.items()]
    return ", ".join([told(where), *([f"tag {tag}"] if tag else []), *by])


def _word(
    act: Act, where: JobFilter, args: Mapping[str, str], tag: str | None, cut_off: datetime, count: int
) -> str:
    seen = [
        act,
        asdict(replace(where, payloads=True)),
        dict(args),
        tag,
        cut_off.astimezone(UTC).isoformat(),
        count,
    ]
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=str).encode()).hexdigest()[:16]
