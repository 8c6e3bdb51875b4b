"""Taking jobs: lane by lane, first in rank over all lanes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.engine import Claimed, Want
from penstock.engines.sqlite import lanes, limited
from penstock.engines.sqlite.groups import GroupRow, are_there, load
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.traits import STARTS_FREE
from penstock.model.errors import WorkerExpired
from penstock.model.job import Claim
from penstock.model.lanes import misfits_of
from penstock.model.states import State

_WAITING, _ACTIVE = State.WAITING.value, State.ACTIVE.value


class Lane(NamedTuple):
    name: str
    queue: str


class Front(NamedTuple):
    """Those who are first in a lane, in order."""

    queue: str
    ranks: str  # a JSON list, as the ids
    ids: str


class Candidate(NamedTuple):
    rank: int
    id: str
    queue: str


def claim(tx: Tx, want: Want) -> Claimed:
    """Take what the worker can run now, whose turn it is."""
    if not is_alive(tx, want.worker):
        raise WorkerExpired(
            f"worker {want.worker} missed its heartbeats and was given up; begin under a new id"
        )
    lanes.write(tx)
    groups = load(tx) if are_there(tx) else {}
    if groups and limited.concerning(groups, want):
        return _claim_limited(tx, want, groups)
    return Claimed(_take(tx, want, _first(tx, want)))


def _claim_limited(tx: Tx, want: Want, groups: Mapping[str, GroupRow]) -> Claimed:
    lanes.reopen(tx, groups)
    unlimited = [*_lanes(tx, want)]
    queues = {lane.queue for lane in unlimited}
    choice = limited.Round(tx, want, queues, groups)
    ids = choice.take(unlimited)
    taken = _take(tx, want, json.dumps(ids))
    claims = {claim.id: claim._replace(probe=claim.id in choice.probes) for claim in taken}
    lanes.write(tx)
    return Claimed([claims[job_id] for job_id in ids], limited.next_in(tx, unlimited))


def _take(tx: Tx, want: Want, ids: str) -> list[Claim]:
    """Make these jobs, a JSON list, the worker's."""
    if not tx.change("claim", {"worker": want.worker, "request": want.request, "now": tx.now, "ids": ids}):
        return []
    # Read back in a statement of its own: RETURNING takes twice as long for wide rows.
    rows = sorted(_list(tx, "claimed", (ids,)))
    claims = [_claim(values) for values in rows]
    _count(tx, claims)
    _free_keys(tx, [claim for claim, values in zip(claims, rows, strict=True) if values[-1] & STARTS_FREE])
    return claims


def is_alive(session: Session, worker: str) -> bool:
    """Whether the worker's row is there and its time has not passed."""
    return session.beats.until(worker) > session.now and session.row("worker_exists", (worker,)) is not None


def _first(tx: Tx, want: Want) -> str:
    """The ids of those who are first, a JSON list."""
    fronts = [front for lane in _lanes(tx, want) if (front := _front(tx, want, lane)).ids != "[]"]
    if len(fronts) == 1:
        return fronts[0].ids  # as most often, and nothing to compare with
    return json.dumps(_first_in_rank(_candidates(fronts), want))


def _front(tx: Tx, want: Want, lane: Lane) -> Front:
    most = max(0, min(want.queues[lane.queue], want.limit))  # less than none would be all there are
    ((ranks, ids),) = tx.rows("claim_first", (lane.name, tx.now, most))
    return Front(lane.queue, ranks, ids)


def _candidates(fronts: Sequence[Front]) -> list[Candidate]:
    found = [
        Candidate(rank, job_id, front.queue)
        for front in fronts
        for rank, job_id in zip(json.loads(front.ranks), json.loads(front.ids), strict=True)
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
        if row["queue"] in queues and known_as is not None and known_as not in misfits_of(row["lane"]):
            yield Lane(row["lane"], row["queue"])


def _first_in_rank(found: Sequence[Candidate], want: Want) -> list[str]:
    taken: Counter[str] = Counter()
    ids: list[str] = []
    for _, job_id, queue in found:
        if len(ids) < want.limit and taken[queue] < want.queues[queue]:
            taken[queue] += 1
            ids.append(job_id)
    return ids


def _list(tx: Tx, name: str, values: tuple[object, ...]) -> list[list[Any]]:
    """The rows of a statement that answers them as one JSON list: read in one step, as in `settle`."""
    ((text,),) = tx.rows(name, values)
    rows: list[list[Any]] = json.loads(text)
    return rows


def _count(tx: Tx, claims: Sequence[Claim]) -> None:
    for (queue, lane), n in Counter([(claim.queue, claim.lane) for claim in claims]).items():
        tx.count(queue, _WAITING, lane, -n)
        tx.count(queue, _ACTIVE, lane, n)


def _free_keys(tx: Tx, claims: Sequence[Claim]) -> None:
    for claim in claims:
        tx.change("keys_free", claim._asdict() | {"now": tx.now})


def _claim(values: Sequence[Any]) -> Claim:
    suspect, crashes, created_at, due_at = values[13:17]
    return Claim._make((*values[1:13], suspect != 0, crashes, instant(created_at), instant(due_at), False))
