"""Jobs that wait for others: how they are tied, and what the end of one means to those behind it."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.engines.sqlite import flows
from penstock.engines.sqlite.instants import HEAD_START_US, micro
from penstock.engines.sqlite.leave import leave
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.traits import FEEDS, FLOW, SHELVED, TIED
from penstock.model.job import NewJob, Ties
from penstock.model.outcome import UPSTREAM_FAILED
from penstock.model.states import State

Values: TypeAlias = dict[str, Any]
Ended: TypeAlias = tuple[str, State]

_WAITING, _DELAYED, _BLOCKED = State.WAITING.value, State.DELAYED.value, State.BLOCKED.value


def finish(tx: Tx, job: Values, state: State, *, keep: bool = True) -> None:
    """End an unfinished job, and the wait of those behind it."""
    leave(tx, job, state, keep=keep)
    if job["traits"] & FEEDS:
        resolve(tx, [(job["id"], state)])


def put(tx: Tx, jobs: Sequence[NewJob], leads_to: Mapping[str, str]) -> None:
    """Tie jobs that were just put in; `leads_to` names, for each that was not made, the job it doubles."""
    tx.change_many("ties_set", [_columns(tx, job, job.ties) for job in jobs if job.ties])
    flows.join(tx, jobs)
    edges = [
        (job.id, place, leads_to.get(edge.id, edge.id), edge.on_failure)
        for job in jobs
        for place, edge in enumerate(job.ties.after if job.ties else ())
    ]
    if edges:
        tx.change_many("edges_add", edges)
        upstream = (json.dumps([*{edge[2] for edge in edges}]),)
        tx.change("mark_feeding", upstream)
        resolve(tx, [(row["id"], State(row["state"])) for row in tx.rows("ended_among", upstream)])
        resolve(tx, [(row["id"], State.COMPLETED) for row in tx.rows("gone_among", (_come(jobs, leads_to),))])


def resolve(tx: Tx, ended: Iterable[Ended]) -> None:
    """Tell those who wait for these jobs, and those who wait for whom that ends."""
    pending = deque(ended)
    while pending:
        upstream, state = pending.popleft()
        if state is State.COMPLETED:
            for job_id in dict.fromkeys(row["job_id"] for row in tx.rows("edges_resolve", (upstream,))):
                _let_go_if_free(tx, job_id)
        else:
            for edge in tx.rows("edges_to", (upstream,)):
                pending.extend(_broken(tx, edge))


def let_go(tx: Tx, job: sqlite3.Row) -> None:
    """A blocked job waits for nobody any more: due at its own time, or now."""
    due = max(job["due_at"], tx.now)
    later = due - job["due_at"]
    state = _DELAYED if due > tx.now else _WAITING
    tx.change("edges_close", (job["id"],))
    tx.change("let_go", (state, due, due - HEAD_START_US[job["priority"]], later, job["id"]))
    tx.count(job["queue"], _BLOCKED, job["lane"], -1)
    tx.count(job["queue"], state, job["lane"], 1)


def point_to_heir(tx: Tx, dead_id: str, heir: str) -> None:
    """Those who wait for a job that failed wait for the one it is recovered as."""
    if tx.change("edges_to_heir", (heir, dead_id)):
        tx.change("mark_feeding", (json.dumps([heir]),))


def stand_in(tx: Tx, dead_id: str, heir: NewJob) -> None:
    """A recovered job has waited for whom the first one has, and is in its flow."""
    dead = tx.row("finished", (dead_id,))
    if dead is None or not dead["traits"] & (TIED | FLOW):
        return
    tx.change("edges_copy", (heir.id, dead_id))
    tx.change("mark_heir", (dead["traits"] & (TIED | FLOW), dead["flow"], heir.id))
    if dead["flow"]:
        flows.join(tx, [heir._replace(ties=Ties(flow=flows.named(tx, dead["flow"])))])


def _come(jobs: Sequence[NewJob], leads_to: Mapping[str, str]) -> str:
    """Upstreams that have been there before, as a JSON list."""
    edges = (edge for job in jobs for edge in (job.ties.after if job.ties else ()))
    come = (edge.id for edge in edges if edge.has_come or edge.id in leads_to)
    return json.dumps([leads_to.get(upstream, upstream) for upstream in come])


def _columns(tx: Tx, job: NewJob, ties: Ties) -> tuple[Any, ...]:
    traits = (
        (FEEDS if ties.feeds else 0)
        | (TIED if ties.after else 0)
        | (FLOW if ties.flow else 0)
        | (SHELVED if ties.shelf else 0)
    )
    flow = ties.flow and ties.flow.id
    deadline = None if ties.deadline is None or not ties.after else tx.now + micro(ties.deadline)
    return traits, ties.shelf, flow, ties.origin, deadline, ties.at_deadline, job.id


def _broken(tx: Tx, edge: sqlite3.Row) -> Iterator[Ended]:
    """What the bad end of a job means to one that waits for it; who has ended by that."""
    if edge["on_failure"] == "wait":
        yield from _heir(tx, edge)
        return
    job = tx.row("unfinished", (edge["job_id"],))
    if job is None or job["state"] != _BLOCKED:
        return
    if edge["on_failure"] == "ignore":
        tx.change("edge_close", (edge["job_id"], edge["place"]))
        _let_go_if_free(tx, edge["job_id"])
    elif edge["on_failure"] == "continue":
        let_go(tx, job)
    else:
        note = UPSTREAM_FAILED.format(id=edge["after_id"])
        leave(tx, dict(job) | {"note": note}, State.CANCELLED)
        if job["traits"] & FEEDS:
            yield job["id"], State.CANCELLED


def _heir(tx: Tx, edge: sqlite3.Row) -> Iterator[Ended]:
    """Where the job that failed was recovered before anybody waited for it."""
    failed = tx.row("finished", (edge["after_id"],))
    if failed is None or failed["recovered_as"] is None:
        return
    heir: str = failed["recovered_as"]
    point_to_heir(tx, failed["id"], heir)
    ended = tx.row("finished", (heir,))
    if ended is not None:
        yield heir, State(ended["state"])


def _let_go_if_free(tx: Tx, job_id: str) -> None:
    if tx.row("edges_left", (job_id,)) is None:
        job = tx.row("unfinished", (job_id,))
        if job is not None and job["state"] == _BLOCKED:
            let_go(tx, job)
