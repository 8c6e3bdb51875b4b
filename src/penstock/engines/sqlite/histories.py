"""What is told of jobs that have ended, pruned or not."""

from __future__ import annotations

import sqlite3
from typing import Any

from penstock.engine import NOT_READ, HistoryFilter
from penstock.engines.records import record_from
from penstock.engines.sqlite.inspection import JOB_CONDITIONS, conditions_for, job_values, narrowed
from penstock.engines.sqlite.instants import instant
from penstock.engines.sqlite.session import Session
from penstock.engines.sqlite.statements import SQL
from penstock.model.record import Record


def history(session: Session, job_id: str) -> Record | None:
    """One of them."""
    rows = _rows(session, SQL["histories"], ["id = :id"], {"id": job_id, "limit": 1})
    return _record(rows[0]) if rows else None


def histories(
    session: Session, where: HistoryFilter, limit: int, after: str | None, *, ids_tell_time: bool
) -> list[Record]:
    """Those that match, newest first."""
    values = job_values(where, where.status, after, ids_tell_time=ids_tell_time)
    statement = SQL["histories"]
    if not where.payloads:
        statement = statement.replace(" args,", f" '{NOT_READ}' as args,")
    rows = _rows(session, statement, conditions_for(JOB_CONDITIONS, values), values | {"limit": limit})
    return [_record(row) for row in rows]


def _rows(
    session: Session, statement: str, conditions: list[str], values: dict[str, Any]
) -> list[sqlite3.Row]:
    return session.connection.execute(narrowed(statement, conditions), values).fetchall()


def _record(row: sqlite3.Row) -> Record:
    told = {
        "id": row["id"],
        "queue_name": row["queue"],
        "job_type": row["task"],
        "bull_job_id": row["id"],
        "status": row["state"],
        "payload_json": row["args"],
        "result_json": row["result"],
        "error_message": row["error"],
        "attempts_made": row["attempt"],
        "idempotency_key": row["key"],
        "updated_at": row["finished_at"],
    }
    return record_from(dict(row) | told, instant)
