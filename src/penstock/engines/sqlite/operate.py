"""What a person may do to jobs and queues."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine import Recovery
from penstock.engines.sqlite import effects, keys, steps
from penstock.engines.sqlite.enqueue import insert, state_of
from penstock.engines.sqlite.instants import HEAD_START_US, micro
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.ties import finish, point_to_heir, stand_in
from penstock.model.job import NewJob
from penstock.model.states import State


def cancel(tx: Tx, ids: Sequence[str], reason: str) -> list[State | None]:
    """Cancel each unfinished job, or ask the worker that runs it; the state each is in afterwards."""
    return [_cancel_one(tx, job_id, reason) for job_id in ids]


def promote(tx: Tx, ids: Sequence[str]) -> int:
    """Make delayed jobs due now."""
    return sum(_promote_one(tx, job_id) for job_id in ids)


def reschedule(tx: Tx, ids: Sequence[str], delay: float) -> int:
    """Make waiting and delayed jobs due at another time."""
    return sum(_reschedule_one(tx, job_id, tx.now + micro(delay)) for job_id in set(ids))


def recover(tx: Tx, recoveries: Sequence[Recovery]) -> list[str | None]:
    """Make new jobs of dead letters; what was recovered before is answered with that job."""
    return [_recover_one(tx, recovery) for recovery in recoveries]


def set_paused(tx: Tx, queue: str, paused: bool) -> None:
    """Stop or resume claims from a queue."""
    tx.change("set_paused", (queue, int(paused)))
    if not paused:
        tx.woken.add(queue)


def _cancel_one(tx: Tx, job_id: str, reason: str) -> State | None:
    row = tx.row("unfinished", (job_id,))
    if row is None:
        return state_of(tx, job_id)
    if row["state"] == State.ACTIVE:
        tx.change("cancel_request", (reason, job_id))
        return State.ACTIVE
    finish(tx, dict(row) | {"note": reason}, State.CANCELLED)
    return State.CANCELLED


def _promote_one(tx: Tx, job_id: str) -> int:
    row = tx.row("unfinished", (job_id,))
    if row is None or row["state"] != State.DELAYED:
        return 0
    tx.change("promote", (tx.now, tx.now - HEAD_START_US[row["priority"]], job_id))
    tx.count(row["queue"], State.DELAYED.value, row["lane"], -1)
    tx.count(row["queue"], State.WAITING.value, row["lane"], 1)
    return 1


def _reschedule_one(tx: Tx, job_id: str, due: int) -> int:
    row = tx.row("unfinished", (job_id,))
    if row is None or row["state"] not in (State.WAITING, State.DELAYED):
        return 0
    state = State.DELAYED if due > tx.now else State.WAITING
    rank = due - HEAD_START_US[row["priority"]]
    tx.change("reschedule", {"state": state.value, "due_at": due, "rank": rank, "id": job_id})
    tx.count(row["queue"], row["state"], row["lane"], -1)
    tx.count(row["queue"], state.value, row["lane"], 1)
    return 1


def _recover_one(tx: Tx, recovery: Recovery) -> str | None:
    dead = tx.row("dead_letter", (recovery.dead_id,))
    if dead is None:
        return None
    if dead["recovered_as"] is not None:
        earlier: str = dead["recovered_as"]
        return earlier
    job = NewJob(
        id=recovery.new_id,
        queue=dead["queue"],
        task=dead["task"],
        args=dead["args"] if recovery.args is None else recovery.args,
        key=dead["key"],
        unique=bool(dead["is_unique"]),
        priority=dead["priority"],
        delay=recovery.delay,
        max_attempts=dead["max_attempts"],
        owner=dead["owner"],
        options=dead["options"],
        window=keys.stored_window(dead["key_window"]),
    )
    insert(tx, [job])
    _link(tx, job, recovery.dead_id)
    return job.id


def _link(tx: Tx, job: NewJob, dead_id: str) -> None:
    """Link both ways; the key goes over, unless another job has taken it since."""
    if job.unique:
        keys.take_over(tx, job, dead_id)
        keys.set_windows(tx, [job])
    point_to_heir(tx, dead_id, job.id)
    stand_in(tx, dead_id, job)
    steps.inherit(tx, dead_id, job.id)
    effects.adopt(tx, job)
    tx.change("recovered_from", (dead_id, job.id))
    tx.change("recovered_as", (job.id, dead_id))
    tx.change("dead_letter_recovered", (job.id, tx.now, dead_id))
    tx.count_dead(job.queue, -1)
