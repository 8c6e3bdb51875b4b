"""Jobs on their way in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from penstock.engines.sqlite import keys, ties
from penstock.engines.sqlite.instants import HEAD_START_US, micro
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.statements import SQL
from penstock.model.job import AllWait, Enqueued, NewJob
from penstock.model.lanes import is_parked
from penstock.model.states import State

States: TypeAlias = dict[str, State]  # by job id

_WAITING, _DELAYED, _BLOCKED = State.WAITING.value, State.DELAYED.value, State.BLOCKED.value


def enqueue(tx: Tx, jobs: Sequence[NewJob], *, again: bool) -> Sequence[Enqueued]:
    """Insert all that are new; answer the others with the job that is there."""
    if again or any(job.unique or job.ties for job in jobs):
        return _carefully(tx, jobs, _states(tx, [job.id for job in jobs]) if again else {})
    insert(tx, jobs)
    if any(job.delay > 0 for job in jobs):
        return [Enqueued(job.id, _state(job), False) for job in jobs]
    return AllWait(jobs)


def insert(tx: Tx, jobs: Sequence[NewJob]) -> None:
    """Write jobs that are known to be new."""
    for shape, rows in _by_shape(jobs).items():
        common = shape.values(tx.now)
        if rows.plain:
            tx.change("enqueue_plain", (*common, json.dumps(rows.plain, ensure_ascii=False)))
        for portion in _portions(rows.others):
            tx.connection.execute(_enqueueing(len(portion) // _OWN), (*common, *portion))
        if is_parked(shape.lane):
            _, task, *misfit = shape.lane.split("?")
            reason = "enqueued as parked"
            tx.change("lanes_open", (shape.lane, shape.queue, task, misfit[0] if misfit else None, reason))
        tx.count(shape.queue, shape.state, shape.lane, len(rows.plain) + len(rows.others) // _OWN)


def state_of(session: Session, job_id: str) -> State | None:
    """The state a job is in, finished or not; None for no such job."""
    return _states(session, [job_id]).get(job_id)


def _carefully(tx: Tx, jobs: Sequence[NewJob], known: States) -> list[Enqueued]:
    fresh: list[NewJob] = []
    put = 0  # how many of them are written
    answers = []
    for job in map(keys.as_it_comes, jobs):
        if job.id in known:
            answers.append(Enqueued(job.id, known[job.id], False))
            continue
        holder = keys.take(tx, job) if job.unique else None
        if holder in known:  # it may have come with this call
            put = _put(tx, fresh, put)
        state = None if holder is None else keys.answer(tx, job, holder)
        if state is None:
            holder, state = job.id, _state(job)
            fresh.append(job)
            known[job.id] = state
        answers.append(Enqueued(holder or job.id, state, holder != job.id))
    _put(tx, fresh, put)
    tied = [job for job in fresh if job.ties]
    return _tied(tx, tied, jobs, answers) if tied else answers


def _put(tx: Tx, fresh: Sequence[NewJob], done: int) -> int:
    """Write those that are not written yet; how many are now."""
    insert(tx, fresh[done:])
    keys.set_windows(tx, fresh[done:])
    return len(fresh)


def _tied(
    tx: Tx, tied: Sequence[NewJob], jobs: Sequence[NewJob], answers: Sequence[Enqueued]
) -> list[Enqueued]:
    """Tie what was put in; some of it may have come free, or to its end, by that."""
    doubles = {job.id: answer.id for job, answer in zip(jobs, answers, strict=True) if answer.duplicate}
    ties.put(tx, tied, doubles)
    now = _states(tx, [answer.id for answer in answers])
    return [answer._replace(state=now.get(answer.id, answer.state)) for answer in answers]


def _states(session: Session, ids: Sequence[str]) -> States:
    return {row["id"]: State(row["state"]) for row in session.rows("states", {"ids": json.dumps(ids)})}


def _state(job: NewJob) -> State:
    if job.ties and job.ties.after:
        return State.BLOCKED
    return State.DELAYED if job.delay > 0 else State.WAITING


class _Shape(NamedTuple):
    """What jobs enqueued together mostly have in common."""

    queue: str
    task: str
    lane: str
    state: str
    priority: int
    delay: float
    max_attempts: int
    expire_after: float | None
    options: str | None

    def values(self, now: int) -> tuple[Any, ...]:
        """The numbered values of the statement."""
        due = now + micro(self.delay) if self.delay > 0 else now
        rank = due - HEAD_START_US[self.priority]
        expires = None if self.expire_after is None else due + micro(self.expire_after)
        return (
            self.queue, self.task, self.lane, self.state, rank, self.priority, self.max_attempts, now, due,
            expires, self.options,
        )  # fmt: skip


_ID = 36  # letters
_OWN = 5  # values that each job has for itself
_PORTIONS = (100, 10, 1)  # jobs to a statement: one by one the driver costs more than the database


# What makes the shape of a job.
_NAMES = ("queue", "task", "lane", "priority", "delay", "max_attempts", "expire_after", "options", "ties")
_SHARED = itemgetter(*map(NewJob._fields.index, _NAMES))


class _Rows(NamedTuple):
    """What the jobs of a shape have for themselves."""

    plain: list[str]  # of those that are nothing but an id and a payload
    others: list[Any]  # all values, one after the other


def _by_shape(jobs: Sequence[NewJob]) -> dict[_Shape, _Rows]:
    found: dict[_Shape, _Rows] = {}
    shared: object = None
    plain, others = _Rows([], [])
    for job in jobs:
        mine = _SHARED(job)
        if mine != shared:
            shared = mine
            plain, others = found.setdefault(_shape(job), _Rows([], []))
        job_id = job.id
        if job.key == job_id and not job.unique and job.owner is None and len(job_id) == _ID:
            plain.append(job_id + job.args)
        else:
            others += (job_id, job.key, job.unique, job.owner, job.args)
    return found


def _shape(job: NewJob) -> _Shape:
    state = _DELAYED if job.delay > 0 else _WAITING
    if job.ties and job.ties.after:
        state = _BLOCKED
    return _Shape(
        job.queue, job.task, job.lane or job.queue, state, int(job.priority), job.delay, job.max_attempts,
        job.expire_after, job.options,
    )  # fmt: skip


def _portions(rows: list[Any]) -> Iterator[list[Any]]:
    start = 0
    for size in _PORTIONS:
        while len(rows) - start >= size * _OWN:
            yield rows[start : start + size * _OWN]
            start += size * _OWN


@cache
def _enqueueing(jobs: int) -> str:
    """The statement for so many jobs: a `?` without a number is the next value."""
    head, values, row = SQL["enqueue"].rstrip().rpartition("values")
    return head + values + ",".join([row] * jobs)
