"""Taking jobs: lane by lane, first in rank over all lanes."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock.engine import Want
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.errors import WorkerExpired
from penstock.model.job import Claim
from penstock.model.states import State

_WAITING, _ACTIVE = State.WAITING.value, State.ACTIVE.value


class Lane(NamedTuple):
    name: str
    queue: str


class Candidate(NamedTuple):
    rank: int
    id: str
    queue: str


def claim(tx: Tx, want: Want) -> list[Claim]:
    """Take what the worker can run now, in rank order."""
    if not is_alive(tx, want.worker):
        raise WorkerExpired(
            f"worker {want.worker} missed its heartbeats and was given up; begin under a new id"
        )
    ids = json.dumps(_first_in_rank(_candidates(tx, want), want))
    if not tx.change("claim", {"worker": want.worker, "request": want.request, "now": tx.now, "ids": ids}):
        return []
    # Read back in a statement of its own: RETURNING takes twice as long for wide rows.
    rows = tx.rows("claimed", (ids,))
    _count(tx, rows)
    return [_claim(row) for row in rows]


def is_alive(session: Session, worker: str) -> bool:
    """Whether the worker's row is there and its time has not passed."""
    return session.beats.until(worker) > session.now and session.row("worker_exists", (worker,)) is not None


def _candidates(tx: Tx, want: Want) -> list[Candidate]:
    found: list[Candidate] = []
    for lane in _lanes(tx, want):
        most = min(want.queues[lane.queue], want.limit)
        if most > 0:
            found += [
                Candidate(rank, job_id, lane.queue)
                for rank, job_id in tx.rows("claim_lane", (lane.name, tx.now, most))
            ]
    found.sort()
    return found


def _lanes(tx: Tx, want: Want) -> Iterator[Lane]:
    """The open lanes of the wanted queues, and what is parked there for a worker such as this one."""
    paused = {row["name"] for row in tx.rows("queues_paused")}
    queues = want.queues.keys() - paused
    for queue in queues:
        yield Lane(queue, queue)
    for row in tx.rows("lanes_parked"):
        known_as = want.tasks.get(row["task"])
        if row["queue"] in queues and known_as is not None and known_as != row["misfit"]:
            yield Lane(row["lane"], row["queue"])


def _first_in_rank(found: Sequence[Candidate], want: Want) -> list[str]:
    taken: Counter[str] = Counter()
    ids: list[str] = []
    for _, job_id, queue in found:
        if len(ids) < want.limit and taken[queue] < want.queues[queue]:
            taken[queue] += 1
            ids.append(job_id)
    return ids


def _count(tx: Tx, rows: Sequence[sqlite3.Row]) -> None:
    for (queue, lane), n in Counter([(row["queue"], row["lane"]) for row in rows]).items():
        tx.count(queue, _WAITING, lane, -n)
        tx.count(queue, _ACTIVE, lane, n)


def _claim(row: sqlite3.Row) -> Claim:
    *told, suspect, crashes, created_at, due_at = row
    return Claim._make((*told, bool(suspect), crashes, instant(created_at), instant(due_at)))
