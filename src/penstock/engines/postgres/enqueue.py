"""Enqueue as data: what to run and how to read the answer, for our own connections and for the caller's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from penstock.engines.postgres.catalog import catalog
from penstock.engines.postgres.database import Connection, Rows
from penstock.model.job import Enqueued, NewJob
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State

COPY_FROM = 50  # jobs without given keys, from which COPY is faster than the function
_BLOCK_ROWS = 1_000
_DEFAULTS = NewJob("", "", "")
_OPTIONAL = ("priority", "delay", "max_attempts", "owner", "expire_after", "options", "lane")


class Plan(NamedTuple):
    """A statement, its values, and how to read its rows."""

    sql: str
    values: dict[str, Any]
    decode: Callable[[Rows], list[Enqueued]]


def plan(schema: str, jobs: Sequence[NewJob], *, again: bool = False, now: datetime | None = None) -> Plan:
    """One call of the SQL function `enqueue`, in whichever transaction the caller runs it."""
    given = json.dumps([_fields(job) for job in jobs], ensure_ascii=False)
    return Plan(catalog(schema)["enqueue"], {"jobs": given, "again": again, "now": now}, _decode)


def _decode(rows: Rows) -> list[Enqueued]:
    return [Enqueued(job_id, State(state), duplicate) for job_id, state, duplicate in rows]


def _fields(job: NewJob) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": job.id, "queue": job.queue, "task": job.task, "args": job.args}
    if job.unique or job.key not in ("", job.id):
        fields |= {"key": job.key, "unique": job.unique}
    for name in _OPTIONAL:
        if (value := getattr(job, name)) != getattr(_DEFAULTS, name):
            fields[name] = value
    return fields


class Batch(NamedTuple):
    """Jobs without given keys on their way in by COPY: the rows, and what they add to the counts."""

    rows: list[str]
    states: list[State]
    counts: Counter[tuple[str, str | None, State]]


def batch(jobs: Sequence[NewJob], now: datetime) -> Batch:
    """Rows in COPY's text format, their instants reckoned from the server's `now`."""
    times: dict[tuple[float, int, float | None], tuple[State, str]] = {}
    counts: Counter[tuple[str, str | None, State]] = Counter()
    rows, states = [], []
    for job in jobs:
        when = (job.delay, job.priority, job.expire_after)
        if when not in times:
            times[when] = _times(job, now)
        state, instants = times[when]
        key = _text(job.key) if job.key and job.key != job.id else _NULL
        rows.append(
            f"{job.id}\t{job.queue}\t{job.task}\t{_text(job.lane or job.queue)}\t{state.value}\t"
            f"{_text(job.args)}\t{key}\t{job.priority:d}\t{job.max_attempts}\t{_text(job.owner)}\t"
            f"{_text(job.options)}\t{instants}\n"
        )
        states.append(state)
        counts[job.queue, job.lane if state is State.WAITING else None, state] += 1
    return Batch(rows, states, counts)


def merge(jobs: Sequence[NewJob], states: Iterable[State], keyed: Iterable[Enqueued]) -> list[Enqueued]:
    """The answers for jobs of both kinds, in their order."""
    states, keyed = iter(states), iter(keyed)
    return [next(keyed) if job.unique else Enqueued(job.id, next(states), duplicate=False) for job in jobs]


async def copy(connection: Connection, sql: str, rows: Sequence[str]) -> None:
    """Send rows made by `batch`."""
    async with connection.cursor().copy(sql.encode()) as stream:
        for block in _blocks(rows):
            await stream.write(block)


def count_values(counts: Counter[tuple[str, str | None, State]]) -> dict[str, Any]:
    """The values of `count_new`."""
    return {
        "queues": [queue for queue, _, _ in counts],
        "lanes": [None if lane == queue else lane for queue, lane, _ in counts],
        "states": [state.value for _, _, state in counts],
        "counts": list(counts.values()),
        "wake": sorted({queue for queue, _, state in counts if state is State.WAITING}),
    }


def _blocks(rows: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield "".join(rows[start : start + _BLOCK_ROWS])


def _times(job: NewJob, now: datetime) -> tuple[State, str]:
    due = now + timedelta(seconds=job.delay)
    rank = due - timedelta(seconds=HEAD_START[Priority(job.priority)])
    expires = _NULL
    if job.expire_after is not None:
        expires = (due + timedelta(seconds=job.expire_after)).isoformat()
    state = State.DELAYED if job.delay > 0 else State.WAITING
    return state, f"{now.isoformat()}\t{due.isoformat()}\t{rank.isoformat()}\t{expires}"


_NULL = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _text(value: str | None) -> str:
    if value is None:
        return _NULL
    if "\\" in value or not value.isprintable():
        return value.translate(_ESCAPES)
    return value
