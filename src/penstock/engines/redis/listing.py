"""Lists for people: as many bounded looks as a page takes. Between two of them others get their turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from penstock.engine import NOT_READ, DeadFilter, HistoryFilter, JobFilter
from penstock.engines.redis.codec import LETTERS, raw_id
from penstock.engines.redis.instants import number, stored
from penstock.engines.redis.records import read_job, read_letter
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.states import FINISHED, State

Do: TypeAlias = Callable[..., Awaitable[Any]]

_ALL = b"wdbacfx"
_ENDED = b"cfx"


async def histories(do: Do, where: HistoryFilter, limit: int, after: str | None) -> list[Record]:
    """One page of the jobs that have ended and are still here."""
    ended = {state.value: state for state in FINISHED}
    if where.status is not None and where.status not in ended:
        return []
    alike = ("queue", "task", "owner", "key", "since", "until", "payloads")
    wanted = JobFilter(
        state=None if where.status is None else ended[where.status],
        **{name: getattr(where, name) for name in alike},
    )
    found = await jobs(do, wanted, limit, after, among=_ENDED)
    return [Record.of(job) for job in found]


async def jobs(do: Do, where: JobFilter, limit: int, after: str | None, *, among: bytes = _ALL) -> list[Job]:
    """One page of jobs in the states that `among` has the letters of."""
    if "" in (where.queue, where.task, where.owner, where.key):
        return []  # to the script it is no condition at all, and there is no such name
    found = [job for job in await _by_minted_key(do, where, after) if LETTERS[job.state] in among]
    cursor = b"" if after is None else raw_id(after)
    fixed = _conditions(where, among)
    while len(found) < limit:
        cursor, *rows = await do("list", cursor, number(limit - len(found)), *fixed)
        found += [read_job(*row) for row in zip(*[iter(rows)] * 5, strict=True)]
        if not cursor:
            break
    return sorted(found, key=lambda job: job.id, reverse=True)[:limit]


async def _by_minted_key(do: Do, where: JobFilter, after: str | None) -> list[Job]:
    """A minted key is the id itself, and in no index."""
    if where.key is None or not is_id(where.key) or (after is not None and where.key >= after):
        return []
    raw = raw_id(where.key)
    row = await do("get", raw)
    if row is None:
        return []
    job = read_job(raw, *row)
    job = job if where.payloads else replace(job, args_json=NOT_READ)
    return [job] if job.key == job.id and _fits(job, where) else []


def _fits(job: Job, where: JobFilter) -> bool:
    same = ("queue", "task", "state", "owner", "parked")
    wanted = [(getattr(job, name), getattr(where, name)) for name in same]
    if any(asked is not None and is_ != asked for is_, asked in wanted):
        return False
    return _within(job.created_at, where.since, where.until)


def _conditions(where: JobFilter, among: bytes) -> list[bytes]:
    """The rest of what `list.lua` takes."""
    states = among if where.state is None else LETTERS[where.state]
    if where.parked and states == _ALL:
        states = LETTERS[State.WAITING]
    return [
        states,
        *((name or "").encode() for name in (where.queue, where.task, where.owner, where.key)),
        *(b"" if at is None else number(stored(at)) for at in (where.since, where.until)),
        b"" if where.parked is None else b"1" if where.parked else b"0",
        b"1" if where.payloads else b"0",
    ]


async def dead_letters(do: Do, where: DeadFilter, limit: int, after: str | None) -> list[DeadLetter]:
    """One page of dead letters."""
    found: list[DeadLetter] = []
    if "" in (where.queue, where.task):
        return found  # as above
    cursor = b"" if after is None else raw_id(after)
    fixed = [
        (where.queue or "").encode(),
        (where.task or "").encode(),
        b"1" if where.recovered else b"0",
        b"" if where.owner is None else b"o" + where.owner.encode(),
        b"1" if where.payloads else b"0",
    ]
    while len(found) < limit:
        cursor, *rows = await do("dead_letters", cursor, *fixed)
        for raw, text in zip(*[iter(rows)] * 2, strict=True):
            letter = read_letter(raw, text)
            if _wanted(letter, where):
                found.append(letter)
        if not cursor:
            break
    return found[:limit]


def _wanted(letter: DeadLetter, where: DeadFilter) -> bool:
    return where.reason in (None, letter.reason) and _within(letter.failed_at, where.since, where.until)


def _within(at: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or at >= since) and (until is None or at < until)
