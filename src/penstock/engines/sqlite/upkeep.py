"""What every worker does on the side, in bounded steps."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence

from penstock.engine import Expired, Outlook, Retention
from penstock.engines.sqlite import breakers, groups, series
from penstock.engines.sqlite.ending import fail_unstarted
from penstock.engines.sqlite.instants import SECOND, micro
from penstock.engines.sqlite.leave import forget_record
from penstock.engines.sqlite.schedules import due_schedules
from penstock.engines.sqlite.session import Session, Tx
from penstock.engines.sqlite.ties import finish, let_go
from penstock.engines.sqlite.workers import any_expired
from penstock.model.outcome import EXPIRED, UPSTREAM_LATE, UPSTREAM_MISSING
from penstock.model.states import State

_TROUBLED = (State.FAILED, State.CANCELLED)
UNSHELVED = 1_000  # jobs of one schedule that is gone, in one round
NOTES_DROPPED = 1_000  # notes past their time, in one round


def outlook(session: Session) -> Outlook:
    """What there is to do."""
    return Outlook(next_due(session), due_schedules(session, 0).next_in, any_expired(session))


def next_due(session: Session) -> float | None:
    """Seconds until the next delayed job falls due; None if none will."""
    row = session.row("next_due")
    return None if row is None else max(0.0, (row["due_at"] - session.now) / SECOND)


def stage(tx: Tx, limit: int) -> float | None:
    """Make due jobs wait for a worker."""
    rows = tx.rows("stage", {"now": tx.now, "limit": limit})
    for (queue, lane), n in Counter([(row["queue"], row["lane"]) for row in rows]).items():
        tx.count(queue, State.DELAYED.value, lane, -n)
        tx.count(queue, State.WAITING.value, lane, n)
    return next_due(tx)


def any_past_expiry(session: Session) -> bool:
    at_most_one = (session.now, 1)
    return bool(session.rows("past_expiry", at_most_one) or session.rows("past_deadline", at_most_one))


def expire(tx: Tx, limit: int) -> list[Expired]:
    """Cancel what waited past its own expiry, and end the wait of what was blocked past its deadline."""
    rows = tx.rows("past_expiry", (tx.now, limit))
    for row in rows:
        finish(tx, dict(row) | {"note": EXPIRED}, State.CANCELLED)
    late = tx.rows("past_deadline", (tx.now, limit - len(rows)))
    missed = [found for row in late if (found := _end_wait(tx, row["id"]))]
    return [*(_expired(row, State.CANCELLED, missed=False) for row in rows), *missed]


def prune(tx: Tx, retention: Retention, limit: int, run: str | None) -> int:
    """Remove the oldest finished jobs of a queue: too old first, then too many."""
    if run is not None and not tx.change("cleanups_take", (retention.queue, run)):
        return 0
    removed = 0
    if retention.max_age is not None:
        removed += _drop(tx, retention, _aged(tx, retention.queue, tx.now - micro(retention.max_age), limit))
    kept = {(State.COMPLETED,): retention.keep_completed, _TROUBLED: retention.keep_failed}
    for states, keep in kept.items():
        if keep is not None:
            removed += _drop(tx, retention, _excess(tx, retention.queue, states, keep, limit - removed))
    return removed


def _drop(tx: Tx, retention: Retention, ids: Sequence[str]) -> int:
    if retention.remember and ids:
        tx.change("remember", (json.dumps(ids),))
    return _remove(tx, ids)


def purge(tx: Tx, older_than: float, limit: int) -> int:
    """Remove old dead letters."""
    return _uncounted(tx, tx.rows("purge", (tx.now - micro(older_than), limit)))


def remove_dead_letters(tx: Tx, ids: Sequence[str]) -> int:
    """Remove the dead letters of these jobs."""
    return _uncounted(tx, tx.rows("remove_dead_letters", (json.dumps(list(ids)),)))


def _uncounted(tx: Tx, rows: Sequence[sqlite3.Row]) -> int:
    for queue, n in Counter([row["queue"] for row in rows if row["recovered_at"] is None]).items():
        tx.count_dead(queue, -n)
    return len(rows)


def delete(tx: Tx, ids: Sequence[str]) -> int:
    """Remove the records of finished jobs, pruned or not."""
    return _remove(tx, ids) + tx.change("erase", (json.dumps(ids),))


def forget(tx: Tx, keep: int, older_than: float, limit: int) -> int:
    """Remove what the history holds beyond its bounds."""
    return tx.change("forget", {"before": tx.now - micro(older_than), "keep": keep, "limit": limit})


def _remove(tx: Tx, ids: Sequence[str]) -> int:
    """Remove the records of finished jobs, with the keys they hold."""
    rows = tx.rows("remove", (json.dumps(ids),))
    tx.change_many("keys_free", [dict(row) | {"now": tx.now} for row in rows if row["is_unique"]])
    for row in rows:
        if row["traits"]:
            forget_record(tx, dict(row))
    for (queue, state), n in Counter([(row["queue"], row["state"]) for row in rows]).items():
        tx.count(queue, state, queue, -n)
    return len(rows)


def tidy(tx: Tx, unshelved: Sequence[str]) -> None:
    """Drop lanes that nobody waits in and what is past its time, and fold the log into the file."""
    tx.fold_log = True
    tx.change("lanes_drop_empty")
    tx.change("lanes_drop_idle", {"now": tx.now})
    groups.let_go(tx)
    breakers.let_go(tx)
    tx.change("keys_drop_over", (tx.now,))
    for row in tx.rows("shelves_orphaned", (json.dumps([*unshelved]),)):
        for job in tx.rows("unshelve", (row["shelf"], UNSHELVED)):
            tx.shelve(job["queue"], job["state"], row["shelf"], -1)
    tx.change("shelves_drop_empty")
    tx.change("notes_drop_over", (tx.now, NOTES_DROPPED))
    series.drop_old(tx)


def _end_wait(tx: Tx, job_id: str) -> Expired | None:
    """None where the end of one before has ended this one too."""
    row = tx.row("unfinished", (job_id,))
    if row is None or row["state"] != State.BLOCKED:
        return None
    if row["at_deadline"] == "run":
        let_go(tx, row)
        return _expired(row, State.WAITING, missed=True)
    if row["at_deadline"] == "fail":
        fail_unstarted(tx, dict(row), UPSTREAM_MISSING)
        return _expired(row, State.FAILED, missed=True)
    finish(tx, dict(row) | {"note": UPSTREAM_LATE}, State.CANCELLED)
    return _expired(row, State.CANCELLED, missed=True)


def _expired(row: sqlite3.Row, state: State, *, missed: bool) -> Expired:
    return Expired(row["id"], row["queue"], row["task"], row["owner"], state, missed)


def _aged(tx: Tx, queue: str, before: int, limit: int) -> list[str]:
    found: list[sqlite3.Row] = []
    for state in (State.COMPLETED, State.FAILED, State.CANCELLED):
        found += tx.rows("finished_before", (queue, state.value, before, limit - len(found)))
    return [row["id"] for row in found]


def _excess(tx: Tx, queue: str, states: Sequence[State], keep: int, limit: int) -> list[str]:
    kept = sum(row["n"] for row in _counts(tx, queue) if row["state"] in states)
    excess = min(limit, kept - keep)
    if excess <= 0:
        return []
    oldest = [
        tuple(row) for state in states for row in tx.rows("finished_oldest", (queue, state.value, excess))
    ]
    return [job_id for _, job_id in sorted(oldest)[:excess]]


def _counts(tx: Tx, queue: str) -> list[sqlite3.Row]:
    tx.finish()  # what this verb has removed so far counts already
    return tx.rows("counts_of", {"shelf": queue})
