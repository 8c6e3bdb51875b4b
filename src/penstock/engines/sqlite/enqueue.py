"""Jobs on their way in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from penstock.engines.sqlite.instants import HEAD_START_US, micro
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.job import Enqueued, NewJob
from penstock.model.lanes import is_parked
from penstock.model.states import State

States: TypeAlias = dict[str, State]  # by job id

_WAITING, _DELAYED = State.WAITING.value, State.DELAYED.value


def enqueue(tx: Tx, jobs: Sequence[NewJob], *, again: bool) -> list[Enqueued]:
    """Insert all that are new; answer the others with the job that is there."""
    if again or any(job.unique for job in jobs):
        return _carefully(tx, jobs, _states(tx, [job.id for job in jobs]) if again else {})
    insert(tx, jobs)
    return [Enqueued(job.id, _state(job), False) for job in jobs]


def insert(tx: Tx, jobs: Sequence[NewJob]) -> None:
    """Write jobs that are known to be new."""
    now = tx.now
    tx.change_many("enqueue", [_values(job, now) for job in jobs])
    places = Counter([(job.queue, job.lane or job.queue, job.delay > 0) for job in jobs])
    for (queue, lane, delayed), n in places.items():
        if is_parked(lane):
            _, task, *misfit = lane.split("?")
            tx.change("lanes_open", (lane, queue, task, misfit[0] if misfit else None, "enqueued as parked"))
        tx.count(queue, _DELAYED if delayed else _WAITING, lane, n)


def state_of(session: Session, job_id: str) -> State | None:
    """The state a job is in, finished or not; None for no such job."""
    return _states(session, [job_id]).get(job_id)


def _carefully(tx: Tx, jobs: Sequence[NewJob], known: States) -> list[Enqueued]:
    fresh: list[NewJob] = []
    answers = []
    for job in jobs:
        if job.id in known:
            answers.append(Enqueued(job.id, known[job.id], False))
            continue
        holder = _take_key(tx, job, known) if job.unique else None
        if holder is None:
            fresh.append(job)
            known[job.id] = _state(job)
        answers.append(holder or Enqueued(job.id, known[job.id], False))
    insert(tx, fresh)
    return answers


def _take_key(tx: Tx, job: NewJob, known: States) -> Enqueued | None:
    """Take the job's key; or the job that holds it. A key whose job is gone is taken over."""
    named = (job.queue, job.task, job.key)
    if tx.change("keys_take", (*named, job.id)):
        return None
    row = tx.row("keys_holder", named)
    assert row is not None
    holder: str = row["job_id"]
    state = known.get(holder) or state_of(tx, holder)
    if state is None:
        tx.change("keys_pass_on", (job.id, *named, holder))
        return None
    return Enqueued(holder, state, True)


def _states(session: Session, ids: Sequence[str]) -> States:
    return {row["id"]: State(row["state"]) for row in session.rows("states", {"ids": json.dumps(ids)})}


def _state(job: NewJob) -> State:
    return State.DELAYED if job.delay > 0 else State.WAITING


def _values(job: NewJob, now: int) -> tuple[Any, ...]:
    (
        id_,
        queue,
        task,
        args,
        key,
        unique,
        priority,
        delay,
        max_attempts,
        owner,
        expire_after,
        options,
        lane,
    ) = job
    due = now + micro(delay) if delay > 0 else now
    return (
        id_,
        queue,
        task,
        lane or queue,
        _DELAYED if delay > 0 else _WAITING,
        due - HEAD_START_US[priority],
        int(priority),
        max_attempts,
        now,
        due,
        None if expire_after is None else due + micro(expire_after),
        key,
        int(unique),
        owner,
        options,
        args,
    )
