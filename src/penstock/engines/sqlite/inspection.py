"""What a person may ask. Every question is answered from an index, newest first."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.engine import (
    OLDEST_LANES,
    DeadFilter,
    HistoryFilter,
    JobFilter,
    Parked,
    QueueState,
    Standing,
)
from penstock.engines.records import dead_letter_from, job_from
from penstock.engines.sqlite.instants import instant, stored
from penstock.engines.sqlite.session import DEAD, Session
from penstock.engines.sqlite.statements import SQL
from penstock.engines.sqlite.traits import TIED
from penstock.model.ids import id_range
from penstock.model.job import DeadLetter, Job
from penstock.model.states import State, Status

JOB_CONDITIONS = {
    "queue": "queue = :queue",
    "task": "task = :task",
    "state": "state = :state",
    "owner": "owner = :owner",
    "key": "((key = :key and key <> id) or (id = :key and key = id))",
    "since": "created_at >= :since",
    "until": "created_at < :until",
    "first": "id >= :first",
    "beyond": "id < :beyond",
}
_BY_STATE = {
    State.WAITING: "jobs_unfinished",
    State.BLOCKED: "jobs_blocked",
    State.DELAYED: "jobs_delayed",
    State.ACTIVE: "jobs_active",
    State.COMPLETED: "jobs_finished",
    State.FAILED: "jobs_unsuccessful",
    State.CANCELLED: "jobs_unsuccessful",
}
_PARKED = "(state = 'waiting' and instr(lane, '?') > 0)"

_DEAD_CONDITIONS = {
    "queue": "queue = :queue",
    "task": "task = :task",
    "owner": "owner = :owner",
    "reason": "reason = :reason",
    "since": "failed_at >= :since",
    "until": "failed_at < :until",
    "after": "job_id < :after",
}


def get(session: Session, job_id: str) -> Job | None:
    """One job, finished or not."""
    row = session.row("unfinished", (job_id,)) or session.row("finished", (job_id,))
    return None if row is None else jobs_of(session, [row])[0]


def jobs(
    session: Session, where: JobFilter, limit: int, after: str | None, *, ids_tell_time: bool
) -> list[Job]:
    """Jobs that match."""
    statement, values = listing(where, limit, after, ids_tell_time=ids_tell_time)
    return jobs_of(session, session.connection.execute(statement, values).fetchall())


def jobs_of(session: Session, rows: Sequence[sqlite3.Row]) -> list[Job]:
    """The jobs in these rows, with what ties them to others."""
    edges: dict[str, list[sqlite3.Row]] = defaultdict(list)
    if tied := [row["id"] for row in rows if row["traits"] & TIED]:
        for edge in session.rows("edges_of", (json.dumps(tied),)):
            edges[edge["job_id"]].append(edge)
    return [_job(row, edges[row["id"]]) for row in rows]


def listing(
    where: JobFilter, limit: int, after: str | None, *, ids_tell_time: bool
) -> tuple[str, dict[str, Any]]:
    """The statement that finds the jobs, in the table that can hold them or in both, and its values."""
    values = job_values(where, where.state, after, ids_tell_time=ids_tell_time)
    conditions = conditions_for(JOB_CONDITIONS, values)
    if where.parked is not None:
        conditions.append(_PARKED if where.parked else f"not {_PARKED}")
    statement = narrowed(_tables(where), conditions)
    return without_payloads(statement, "job_columns", where), values | {"limit": limit}


def job_values(
    where: JobFilter | HistoryFilter, state: State | Status | None, after: str | None, *, ids_tell_time: bool
) -> dict[str, Any]:
    """What JOB_CONDITIONS compare with."""
    first, beyond = id_range(where.since, where.until) if ids_tell_time else (None, None)
    return {
        "queue": where.queue,
        "task": where.task,
        "state": state and state.value,
        "owner": where.owner,
        "key": where.key,
        "since": where.since and stored(where.since),
        "until": where.until and stored(where.until),
        "first": first,
        "beyond": min(filter(None, (after, beyond)), default=None),
    }


def dead_letters(session: Session, where: DeadFilter, limit: int, after: str | None) -> list[DeadLetter]:
    """Dead letters that match; those recovered only where asked for."""
    return [_dead(row) for row in session.connection.execute(*dead_listing(where, limit, after))]


def dead_listing(where: DeadFilter, limit: int, after: str | None) -> tuple[str, dict[str, Any]]:
    """The statement that finds them, and its values."""
    values: dict[str, Any] = {
        "queue": where.queue,
        "task": where.task,
        "owner": where.owner,
        "reason": where.reason,
        "since": where.since and stored(where.since),
        "until": where.until and stored(where.until),
        "after": after,
    }
    conditions = conditions_for(_DEAD_CONDITIONS, values)
    if not where.recovered:
        conditions.append("recovered_at is null")
    statement = without_payloads(narrowed(SQL["dead_letters"], conditions), "dead_letter_columns", where)
    return statement, values | {"limit": limit}


def dead_letter(session: Session, job_id: str) -> DeadLetter | None:
    row = session.row("dead_letter", (job_id,))
    return None if row is None else _dead(row)


def queues(session: Session) -> list[QueueState]:
    """Every queue that was ever used or paused."""
    paused = {row["name"]: bool(row["paused"]) for row in session.rows("queues_all")}
    counts: dict[str, dict[State, int]] = defaultdict(lambda: dict.fromkeys(State, 0))
    for row in session.rows("counts_all"):
        if row["state"] != DEAD:
            counts[row["queue"]][State(row["state"])] = row["n"]
    return [
        QueueState(name, paused.get(name, False), counts[name], _oldest(session, name))
        for name in sorted(paused.keys() | counts.keys())
    ]


def standing(session: Session, job_id: str, most: int) -> Standing | None:
    """Where a job stands in its lane."""
    job = session.row("unfinished", (job_id,))
    if job is None or job["state"] != State.WAITING:
        return None
    place = {"lane": job["lane"], "rank": job["rank"], "id": job_id, "now": session.now, "most": most}
    return Standing.counted(session.rows("standing", place)[0]["n"], most)


def unfinished_of(session: Session, owner: str, most: int) -> int:
    """How many jobs of an owner have not ended."""
    count: int = session.rows("unfinished_of", {"owner": owner, "most": most})[0]["n"]
    return count


def dead_count(session: Session) -> int:
    return sum(row["n"] for row in session.rows("counts_all") if row["state"] == DEAD)


def parked(session: Session) -> list[Parked]:
    return [Parked(*row) for row in session.rows("parked")]


def _oldest(session: Session, queue: str) -> datetime | None:
    values = {"queue": queue, "now": session.now, "lanes": OLDEST_LANES}
    due_at: int | None = session.rows("oldest", values)[0]["due_at"]
    return instant(due_at)


def _tables(where: JobFilter) -> str:
    if where.parked:
        return SQL["jobs_unfinished"]
    return SQL["jobs" if where.state is None else _BY_STATE[where.state]]


def conditions_for(known: Mapping[str, str], values: Mapping[str, Any]) -> list[str]:
    return [condition for name, condition in known.items() if values[name] is not None]


def narrowed(statement: str, conditions: list[str]) -> str:
    return statement.replace("/* conditions */", " and ".join(conditions) or "true")


def without_payloads(statement: str, columns: str, where: JobFilter | DeadFilter) -> str:
    """The statement; where payloads are not asked for, with all columns but theirs."""
    if where.payloads:
        return statement
    return statement.replace(" * from penstock_", f" {SQL[columns]} from penstock_")


def _load(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _job(row: sqlite3.Row, edges: Sequence[sqlite3.Row]) -> Job:
    after = [edge["after_id"] for edge in edges]
    blocked_by = [edge["after_id"] for edge in edges if edge["is_open"]]
    return job_from(dict(row), instant, _load, after=after, blocked_by=blocked_by)


def _dead(row: sqlite3.Row) -> DeadLetter:
    return dead_letter_from(dict(row), instant, _load)
