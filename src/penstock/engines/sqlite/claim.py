"""Taking jobs: lane by lane, first in rank over all lanes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.engine import Want
from penstock.engines.sqlite import lanes, limited
from penstock.engines.sqlite.groups import GroupRow, are_there, load
from penstock.engines.sqlite.haul import Haul
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.errors import WorkerExpired
from penstock.model.lanes import misfits_of
from penstock.model.states import State

_WAITING, _ACTIVE = State.WAITING.value, State.ACTIVE.value


class Lane(NamedTuple):
    name: str
    queue: str


class Front(NamedTuple):
    """Those who are first in a lane, in order."""

    lane: Lane
    ranks: str  # a JSON list, as the ids
    ids: str


class Candidate(NamedTuple):
    rank: int
    id: str
    queue: str


class First(NamedTuple):
    """Those whose turn it is."""

    ids: str  # a JSON list
    lane: Lane | None  # None: they are of several


def claim(tx: Tx, want: Want) -> Haul:
    """Take what the worker can run now, whose turn it is."""
    if not is_alive(tx, want.worker):
        raise WorkerExpired(
            f"worker {want.worker} missed its heartbeats and was given up; begin under a new id"
        )
    lanes.write(tx)
    groups = load(tx) if are_there(tx) else {}
    if groups and limited.concerning(groups, want):
        return _claim_limited(tx, want, groups)
    return Haul(_take(tx, want, _first(tx, want)))


def _claim_limited(tx: Tx, want: Want, groups: Mapping[str, GroupRow]) -> Haul:
    lanes.reopen(tx, groups)
    unlimited = [*_lanes(tx, want)]
    queues = {lane.queue for lane in unlimited}
    choice = limited.Round(tx, want, queues, groups)
    ids = choice.take(unlimited)
    text = _take(tx, want, First(json.dumps(ids), None))
    lanes.write(tx)
    return Haul(text, ids, choice.probes, limited.next_in(tx, unlimited))


def _take(tx: Tx, want: Want, first: First) -> str:
    """Make these jobs the worker's; what a Haul is made of."""
    ids, lane = first
    taken = tx.change("claim", {"worker": want.worker, "request": want.request, "now": tx.now, "ids": ids})
    if not taken:
        return "[]"
    _count(tx, tx.rows("claimed_places", (ids,)) if lane is None else [(lane.queue, lane.name, taken)])
    # Read back in a statement of its own: RETURNING takes twice as long for wide rows.
    ((text, starts_free),) = tx.rows("claimed", (ids,))
    if starts_free:
        tx.change("claimed_free_keys", {"ids": ids, "now": tx.now})
    return str(text)


def is_alive(session: Session, worker: str) -> bool:
    """Whether the worker's row is there and its time has not passed."""
    return session.beats.until(worker) > session.now and session.row("worker_exists", (worker,)) is not None


def _first(tx: Tx, want: Want) -> First:
    fronts = [front for lane in _lanes(tx, want) if (front := _front(tx, want, lane)).ids != "[]"]
    if len(fronts) == 1:
        return First(fronts[0].ids, fronts[0].lane)  # as most often, and nothing to compare with
    return First(json.dumps(_first_in_rank(_candidates(fronts), want)), None)


def _front(tx: Tx, want: Want, lane: Lane) -> Front:
    most = max(0, min(want.queues[lane.queue], want.limit))  # less than none would be all there are
    ((ranks, ids),) = tx.rows("claim_first", (lane.name, tx.now, most))
    return Front(lane, ranks, ids)


def _candidates(fronts: Sequence[Front]) -> list[Candidate]:
    found = [
        Candidate(rank, job_id, front.lane.queue)
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


def _count(tx: Tx, places: Iterable[Sequence[Any]]) -> None:
    """Queue, lane, and how many of it were taken."""
    for queue, lane, n in places:
        tx.count(queue, _WAITING, lane, -n)
        tx.count(queue, _ACTIVE, lane, n)
