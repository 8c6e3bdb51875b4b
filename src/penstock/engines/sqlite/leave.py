"""Jobs that leave the unfinished ones, and records that go: what has to be looked after then."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.engines.sqlite import flows
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.traits import FLOW, PINNED, SHELVED, STEPS, TIED, WINDOW
from penstock.model.states import State

Values: TypeAlias = dict[str, Any]


def leave(tx: Tx, job: Values, state: State, *, keep: bool = True) -> None:
    """Move an unfinished job to the finished ones; without a record, its key is free again.

    Members of a flow always leave one: others may ask for their results.
    """
    keep = keep or job["flow"] is not None
    tx.count(job["queue"], job["state"], job["lane"], -1)
    tx.change("jobs_delete", (job["id"],))
    if keep:
        pinned = PINNED if job["flow"] else 0
        tx.change("finish", job | {"state": state.value, "finished_at": tx.now, "pinned": pinned})
        tx.count(job["queue"], state.value, job["lane"], 1)
    else:
        tx.change("keys_free", job | {"now": tx.now})
    if job["traits"]:
        look_after(tx, job, state, keep=keep)


def look_after(tx: Tx, job: Values, state: State, *, keep: bool) -> None:
    """What the end of a job means beyond its own row. `job` is as it was before."""
    if job["traits"] & TIED and job["state"] == State.BLOCKED:
        tx.change("edges_close", (job["id"],))
    if job["traits"] & WINDOW:
        tx.change("keys_free", job | {"now": tx.now})
    if keep:
        tx.shelve(job["queue"], state.value, None if job["flow"] else job["shelf"] or job["queue"], 1)
    else:
        _forget(tx, job)
    if job["traits"] & FLOW:
        flows.member_ended(tx, job["flow"])


def forget_record(tx: Tx, job: Values) -> None:
    """What goes with the record of a finished job that has traits."""
    if job["traits"] & (SHELVED | FLOW):
        shelf = None if job["traits"] & PINNED else job["shelf"] or job["queue"]
        tx.shelve(job["queue"], job["state"], shelf, -1)
    _forget(tx, job)
    if job["traits"] & FLOW:
        flows.drop_if_empty(tx, job["flow"])


def _forget(tx: Tx, job: Values) -> None:
    if job["traits"] & TIED:
        tx.change("edges_forget", (job["id"],))
    if job["traits"] & STEPS:
        tx.change("steps_forget", (job["id"],))
    if job["traits"] & FLOW:
        tx.change("flow_jobs_forget", (job["id"],))
