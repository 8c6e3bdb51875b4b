"""Flows: jobs put in as one, whose records are kept until the last of them has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from penstock.engine import Flow
from penstock.engines.sqlite.inspection import jobs_of
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.job import FlowName, NewJob


def join(tx: Tx, jobs: Sequence[NewJob]) -> None:
    """Make jobs that were just put in members of their flows."""
    flows: dict[FlowName, list[str]] = defaultdict(list)
    for job in jobs:
        if job.ties and job.ties.flow:
            flows[job.ties.flow].append(job.id)
    for (flow, name), ids in flows.items():
        [row] = tx.rows("flows_add", (flow, name, tx.now, len(ids)))
        if row["unfinished"] == len(ids):  # it is new, or had come to its end
            _pin(tx, flow)
        tx.change_many("flow_jobs_add", [(flow, job_id) for job_id in ids])


def named(tx: Tx, flow: str) -> FlowName:
    """A flow that is there."""
    row = tx.row("flow", (flow,))
    assert row is not None
    return FlowName(flow, row["name"])


def member_ended(tx: Tx, flow: str) -> None:
    """One less is unfinished; after the last the members are like other jobs."""
    [row] = tx.rows("flows_count_down", (flow,))
    if row["unfinished"] == 0:
        for job in tx.rows("flow_unpin", (flow,)):
            tx.shelve(job["queue"], job["state"], None, -1)
            tx.shelve(job["queue"], job["state"], job["shelf"] or job["queue"], 1)
        drop_if_empty(tx, flow)


def drop_if_empty(tx: Tx, flow: str) -> None:
    """Forget a flow none of whose members has a record."""
    tx.change("flows_drop", (flow,))


def flow(session: Session, flow_id: str) -> Flow | None:
    """A flow and its members."""
    row = session.row("flow", (flow_id,))
    if row is None:
        return None
    return Flow(
        id=row["id"],
        name=row["name"],
        created_at=instant(row["created_at"]),
        unfinished=row["unfinished"],
        jobs=tuple(jobs_of(session, session.rows("flow_members", {"flow": flow_id}))),
    )


def flows(session: Session, limit: int, after: str | None) -> list[Flow]:
    """Flows, newest first, without their members."""
    return [
        Flow(
            id=row["id"],
            name=row["name"],
            created_at=instant(row["created_at"]),
            unfinished=row["unfinished"],
        )
        for row in session.rows("flows", {"after": after, "limit": limit})
    ]


def _pin(tx: Tx, flow: str) -> None:
    for job in tx.rows("flow_pin", (flow,)):
        tx.shelve(job["queue"], job["state"], job["shelf"] or job["queue"], -1)
        tx.shelve(job["queue"], job["state"], None, 1)
