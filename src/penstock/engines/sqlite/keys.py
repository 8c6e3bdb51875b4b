"""Who holds a key, for how long, and what a newcomer does to a job that is debounced.

A row in `penstock_keys` is a key that is held, but for two that are over without anybody having said so: one
whose job has lost its record, and one of a period (`until`) whose job has ended.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from penstock.engines.sqlite.instants import HEAD_START_US, micro
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.traits import STARTS_FREE, WINDOW
from penstock.model.job import RECORD, NewJob, Window
from penstock.model.lanes import is_parked
from penstock.model.states import State

_FREE_WHEN_STARTED = ("started", "debounce")


def as_it_comes(job: NewJob) -> NewJob:
    """A debounced job is delayed by its window too."""
    return job._replace(delay=job.delay + job.window.seconds) if job.window.kind == "debounce" else job


def take(tx: Tx, job: NewJob) -> str | None:
    """Take the job's key; or who holds it."""
    named = (job.queue, job.task, job.key)
    if tx.change("keys_take", (*named, job.id, _until(tx, job))):
        return None
    row = tx.row("keys_holder", named)
    assert row is not None
    holder: str = row["job_id"]
    return holder


def answer(tx: Tx, job: NewJob, holder: str) -> State | None:
    """The state of the job that holds the key; None where it does no more, and the newcomer does."""
    found = tx.row("unfinished", (holder,))
    if found is not None:
        if holder != job.id and stored_window(found["key_window"]).kind == "debounce":
            return _debounced(tx, found, job)
        return State(found["state"])
    named = (job.queue, job.task, job.key)
    row = tx.row("keys_holder", named)
    ended = tx.row("finished", (holder,))
    assert row is not None
    if ended is not None if row["until"] is None else row["until"] > tx.now:
        return State.COMPLETED if ended is None else State(ended["state"])
    tx.change("keys_pass_on", (job.id, _until(tx, job), *named, holder))
    return None


def take_over(tx: Tx, job: NewJob, dead_id: str) -> None:
    """A recovered job has the key of the one it was, unless another job has it by now."""
    if take(tx, job) is not None:
        tx.change("keys_pass_on", (job.id, _until(tx, job), job.queue, job.task, job.key, dead_id))


def set_windows(tx: Tx, jobs: Sequence[NewJob]) -> None:
    """Remember how long jobs that were just put in hold their keys."""
    special = [job for job in jobs if job.unique and job.window.kind != "record"]
    if special:
        tx.change_many(
            "window_set", [(_traits(job.window), json.dumps(job.window), job.id) for job in special]
        )


def stored_window(text: str | None) -> Window:
    return RECORD if text is None else Window(*json.loads(text))


def _traits(window: Window) -> int:
    return WINDOW | (STARTS_FREE if window.kind in _FREE_WHEN_STARTED else 0)


def _until(tx: Tx, job: NewJob) -> int | None:
    return tx.now + micro(job.window.seconds) if job.window.kind == "period" else None


def _debounced(tx: Tx, held: sqlite3.Row, newcomer: NewJob) -> State:
    """The job does what the newcomer would have done, when the newcomer would have been due."""
    due = tx.now + micro(newcomer.delay)
    state = State(held["state"])
    if state is not State.BLOCKED:
        state = State.DELAYED if due > tx.now else State.WAITING
    lane = held["lane"] if newcomer.lane and is_parked(newcomer.lane) else newcomer.lane or newcomer.queue
    tx.change(
        "debounce",
        {
            "id": held["id"],
            "state": state.value,
            "due_at": due,
            "rank": due - HEAD_START_US[newcomer.priority],
            "priority": int(newcomer.priority),
            "lane": lane,
            "args": newcomer.args,
            "owner": newcomer.owner,
            "options": newcomer.options,
        },
    )
    tx.count(held["queue"], held["state"], held["lane"], -1)
    tx.count(held["queue"], state.value, lane, 1)
    return state
