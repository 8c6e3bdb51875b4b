"""Effects: what has been done for a task's key, recorded in the transaction that does it."""

from __future__ import annotations

from typing import Any

from penstock.engine import Effect, EffectFilter, EffectName, EffectRecord
from penstock.engines.sqlite.instants import instant, micro
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.statements import SQL
from penstock.model.job import NewJob

LATER = 86_400.0  # seconds after which a record that may be needed yet is looked at again

_AFTER = "(task, key, name) > (:after_task, :after_key, :after_name)"


def once(tx: Tx, effect: Effect) -> bool:
    """Record an effect; whether it is the first of its name for this task and key."""
    times = {"now": tx.now, "until": tx.now + micro(effect.keep_for)}
    return tx.change("effects_once", effect._asdict() | times) == 1


def adopt(tx: Tx, heir: NewJob) -> None:
    """A recovered job has the records of the one it was."""
    tx.change("effects_adopt", (heir.id, heir.task, heir.key))


def any_passed(session: Session) -> bool:
    return bool(session.rows("effects_passed", (session.now, 1)))


def forget(tx: Tx, limit: int) -> int:
    """Remove what counts no more; what may be needed yet is not in the way of the others."""
    rows = tx.rows("effects_passed", (tx.now, limit))
    tx.change_many("effects_forget", [row[:3] for row in rows if not row["needed"]])
    later = tx.now + micro(LATER)
    tx.change_many("effects_keep", [(later, *row[:3]) for row in rows if row["needed"]])
    return len(rows)


def effects(
    session: Session, where: EffectFilter, limit: int, after: EffectName | None
) -> list[EffectRecord]:
    """Effects that match."""
    values: dict[str, Any] = {name: getattr(where, name) for name in EffectName._fields}
    conditions = [f"{name} = :{name}" for name, value in values.items() if value is not None]
    if after is not None:
        conditions.append(_AFTER)
        values |= {f"after_{name}": value for name, value in after._asdict().items()}
    statement = SQL["effects"].replace("/* conditions */", " and ".join(conditions) or "true")
    rows = session.connection.execute(statement, values | {"limit": limit}).fetchall()
    return [_record(*row) for row in rows]


def _record(task: str, key: str, name: str, job_id: str, first_at: int, expires_at: int) -> EffectRecord:
    return EffectRecord(task, key, name, job_id, instant(first_at), instant(expires_at))
