"""Enqueue as data: what to run and how to read the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from penstock.engines.postgres.catalog import catalog
from penstock.engines.postgres.database import Connection
from penstock.engines.postgres.new_jobs import as_json, decode
from penstock.engines.postgres.straight import Rows, encoded
from penstock.model.job import RECORD, AllWait, Enqueued, NewJob
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State

Place: TypeAlias = tuple[str, str | None, State]  # queue, lane, state

COPY_FROM = 50  # jobs, from which COPY is faster than the function
_BLOCK_ROWS = 500


class Plan(NamedTuple):
    """A statement, its values, and how to read its rows."""

    sql: str
    values: dict[str, Any]
    decode: Callable[[Rows], list[Enqueued]]


def plan(schema: str, jobs: Sequence[NewJob], *, again: bool = False, now: datetime | None = None) -> Plan:
    """One call of a SQL function, in whichever transaction the caller runs it."""
    if len(jobs) == 1 and not jobs[0].unique and not again and jobs[0].ties is None:
        return Plan(catalog(schema)["enqueue_one"], _values(jobs[0]) | {"now": now}, decode)
    values = {"jobs": as_json(jobs), "again": again, "now": now}
    return Plan(catalog(schema)["enqueue"], values, decode)


def is_bare(job: NewJob) -> bool:
    """Whether it has nothing but a payload and is due at once, as most that come alone."""
    return (
        job.key == job.id
        and not job.unique
        and job.delay == 0
        and job.options is None
        and job.owner is None
        and job.expire_after is None
        and job.ties is None
        and job.lane in (None, job.queue)
    )


def bare_values(job: NewJob, now: datetime | None) -> tuple[bytes | None, ...]:
    """The values of `enqueue_plain`."""
    queue, task, priority, attempts = _shared_values(job.queue, job.task, int(job.priority), job.max_attempts)
    due = None if now is None else encoded(now)
    return (encoded(job.id), queue, task, encoded(job.args), priority, attempts, due)


@lru_cache(1_024)
def _shared_values(*values: str | int) -> tuple[bytes, ...]:
    """What the jobs of a task mostly share."""
    return tuple(map(encoded, values))


def _values(job: NewJob) -> dict[str, Any]:
    """The values of `enqueue_one`."""
    return {
        "id": job.id,
        "queue": job.queue,
        "task": job.task,
        "lane": job.lane or job.queue,
        "args": job.args,
        "key": job.key if job.key not in ("", job.id) else None,
        "priority": int(job.priority),
        "max_attempts": job.max_attempts,
        "delay": job.delay,
        "expire_after": job.expire_after,
        "owner": job.owner,
        "options": job.options,
    }


def is_plain(job: NewJob) -> bool:
    """Whether COPY can take it."""
    return job.ties is None and (job.window == RECORD or not job.unique)


class Batch:
    """Jobs on their way in by COPY; what they add to the counts is known once the rows have been made."""

    def __init__(self, jobs: Sequence[NewJob], now: datetime) -> None:
        self._jobs = jobs
        self._now = now
        self.states: list[State] = []
        self.counts: Counter[Place] = Counter()

    @property
    def all_wait(self) -> bool:
        return all(state is State.WAITING for _, _, state in self.counts)

    def blocks(self) -> Iterator[str]:
        """The rows in COPY's text format, a block at a time: the server reads one while the next is made."""
        for start in range(0, len(self._jobs), _BLOCK_ROWS):
            yield "".join(self._rows(self._jobs[start : start + _BLOCK_ROWS]))

    def _rows(self, jobs: Sequence[NewJob]) -> list[str]:
        """Of neighbours, what they share is written once."""
        rows: list[str] = []
        shared: object = None
        for job in jobs:
            mine = _SHARED(job)
            if mine != shared:
                shared, alike = mine, _alike(job, self._now)
            key = _text(job.key) if job.unique or job.key not in ("", job.id) else _NULL
            rows.append(f"{job.id}{alike.before}{_text(job.args)}\t{key}{alike.behind}")
            self.states.append(alike.state)
            self.counts[alike.place] += 1
        return rows


class _Alike(NamedTuple):
    """What the rows of several jobs have in common."""

    before: str  # what stands before the arguments and the key, and what behind
    behind: str
    state: State
    place: Place  # where it is counted


# What makes jobs alike.
_NAMES = (
    "queue", "task", "lane", "delay", "priority", "expire_after", "unique", "max_attempts", "owner", "options"
)  # fmt: skip
_SHARED = itemgetter(*map(NewJob._fields.index, _NAMES))


def _alike(job: NewJob, now: datetime) -> _Alike:
    """All instants are reckoned from the server's `now`."""
    state, instants = _times(job, now)
    return _Alike(
        f"\t{job.queue}\t{job.task}\t{_text(job.lane or job.queue)}\t{state.value}\t",
        f"\t{job.unique:d}\t{job.priority:d}\t{job.max_attempts}\t{_text(job.owner)}\t{_text(job.options)}\t"
        f"{instants}\n",
        state,
        (job.queue, job.lane if state is State.WAITING else None, state),
    )


def key_values(jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The values of `take_keys`."""
    return {
        "queues": [job.queue for job in jobs],
        "tasks": [job.task for job in jobs],
        "keys": [job.key for job in jobs],
        "ids": [job.id for job in jobs],
    }


def merge(jobs: Sequence[NewJob], batch: Batch, keyed: Iterable[Enqueued]) -> Sequence[Enqueued]:
    """The answers in the order of the jobs; `keyed` are those of jobs that went apart, if any did."""
    if len(batch.states) == len(jobs) and batch.all_wait:
        return AllWait(jobs)
    states, keyed = iter(batch.states), iter(keyed)
    apart = len(batch.states) < len(jobs)
    return [next(keyed) if apart and job.unique else Enqueued(job.id, next(states), False) for job in jobs]


async def copy(connection: Connection, sql: str, batch: Batch) -> None:
    async with connection.cursor().copy(sql.encode()) as stream:
        for block in batch.blocks():
            await stream.write(block)


def count_values(counts: Counter[Place]) -> dict[str, Any]:
    """The values of `count_new`."""
    return {
        "queues": [queue for queue, _, _ in counts],
        "lanes": [None if lane == queue else lane for queue, lane, _ in counts],
        "states": [state.value for _, _, state in counts],
        "counts": list(counts.values()),
        "wake": sorted({queue for queue, _, state in counts if state is State.WAITING}),
    }


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
