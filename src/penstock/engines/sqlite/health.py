"""What the ends of runs tell the breakers that their groups need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from penstock.engines.sqlite import breakers
from penstock.engines.sqlite.groups import needs
from penstock.engines.sqlite.session import Tx
from penstock.model.breaker import Circuit
from penstock.model.lanes import group_of, queue_of


class End(NamedTuple):
    """The end of a run, and what it tells."""

    job_id: str
    queue: str
    lane: str
    healthy: bool | None


def asked_for(tx: Tx, queue: str, lane: str) -> set[str]:
    """The breakers that a job of this lane needs."""
    known = needs(tx)
    return {name for group in (queue, group_of(lane)) for name in known.get(group, ())} if known else set()


def tell(tx: Tx, ends: Sequence[End]) -> None:
    """Tell the breakers of these ends, and who waits for a breaker where that lets more start."""
    told = [(end, name) for end in ends for name in sorted(asked_for(tx, end.queue, end.lane))]
    if not told:
        return
    known = breakers.load(tx)
    for end, name in told:
        row = known.get(name)
        if row is not None and row.told(tx.now, end.job_id, end.healthy):
            _wake(tx, name)
    breakers.save(tx, known.values())


def forget_probes(tx: Tx) -> None:
    """Groups may have ceased to need breakers which jobs of theirs probe: nobody will tell how that ends."""
    known = breakers.load(tx)
    probing = {name: row.probing_jobs() for name, row in known.items()}
    jobs = tx.rows("lanes_of_jobs", (json.dumps([job for some in probing.values() for job in some]),))
    needed = {row["id"]: asked_for(tx, row["queue"], row["lane"]) for row in jobs}
    for name, row in known.items():
        for job in probing[name]:
            if name not in needed.get(job, ()) and row.told(tx.now, job, None):
                _wake(tx, name)
    breakers.save(tx, known.values())


def report_breaker(tx: Tx, name: str, permit: str, healthy: bool | None) -> None:
    """One who had asked says how it ended."""
    row = breakers.load(tx).get(name)
    if row is not None:
        if row.told(tx.now, permit, healthy):
            _wake(tx, name)
        breakers.save(tx, [row])


def set_breaker(tx: Tx, name: str, circuit: Circuit) -> bool:
    """Close or open a breaker by hand."""
    if circuit is Circuit.CLOSED:
        _wake(tx, name)
    return breakers.by_hand(tx, name, circuit)


def _wake(tx: Tx, name: str) -> None:
    tx.woken.update(queue_of(group) for group, needed in needs(tx).items() if name in needed)
