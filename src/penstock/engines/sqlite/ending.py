"""What the end of a run makes of a job: one door out of `active`, whoever opens it."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, TypeAlias

from penstock.engines.sqlite.groups import cool
from penstock.engines.sqlite.health import End, tell
from penstock.engines.sqlite.instants import HEAD_START_US, instant, micro
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.ties import finish
from penstock.model.lanes import is_parked, parked_lane
from penstock.model.outcome import Cancelled, Outcome
from penstock.model.states import State

Values: TypeAlias = dict[str, Any]

ERRORS_KEPT = 20


def take_back(tx: Tx, row: sqlite3.Row, outcome: Outcome) -> State:
    """End the run of a holder that did not end it itself: its token is worth nothing from now on."""
    return end_run(tx, dict(row) | {"token": None}, outcome)


def end_run(tx: Tx, job: Values, outcome: Outcome, ran_for: float = 0.0, *, keep: bool = True) -> State:
    """Write an outcome to an active job; the state it is in afterwards."""
    error, cooldown = _stamped(outcome.error, tx.now), outcome.cooldown
    tell(tx, [End(job["id"], job["queue"], job["lane"], outcome.healthy)])
    job["errors"] = _appended(job["errors"], error)
    job["attempt"] -= int(outcome.refund)
    ran_before = job["ran_for"] > 0
    job["ran_for"] += ran_for
    job["suspect"] = int(job["suspect"] or outcome.suspect)
    job["crashes"] += int(outcome.crashed)
    job["rescues"] += int(outcome.rescued)
    if job["cancel_requested"] and (not outcome.state.finished or outcome.state is State.CANCELLED):
        outcome = Cancelled(job["note"])
    job["note"] = outcome.note
    if cooldown > 0:
        cool(tx, job["lane"], cooldown)
    if not outcome.state.finished:
        _run_again(tx, job, outcome, ran_before=ran_before)
    else:
        job["result"] = outcome.result
        finish(tx, job, outcome.state, keep=keep or outcome.state is not State.COMPLETED)
        if outcome.state is State.FAILED:
            _bury(tx, job, outcome.reason, error)
    return outcome.state


def fail_unstarted(tx: Tx, job: Values, reason: str) -> None:
    """Fail a job that has not begun, with a dead letter."""
    finish(tx, job | {"note": reason}, State.FAILED)
    _bury(tx, job, reason, None)


def _run_again(tx: Tx, job: Values, outcome: Outcome, *, ran_before: bool) -> None:
    tx.count(job["queue"], job["state"], job["lane"], -1)
    if not outcome.keep_place:
        job["due_at"] = tx.now + micro(outcome.delay)
        job["rank"] = job["due_at"] - HEAD_START_US[job["priority"]]
    if job["suspect"] or not outcome.keep_place:  # it has run
        job["expires_at"] = None
    # What was handed back from its first run has not started; a snooze was a run, though no attempt.
    if outcome.keep_place and job["attempt"] == 0 and not job["errors"] and not ran_before:
        job["started_at"] = None
    job["lane"] = _lane_after(tx, job, outcome)
    job["state"] = outcome.state.value
    tx.change("run_again", job)
    tx.count(job["queue"], job["state"], job["lane"], 1)


def _lane_after(tx: Tx, job: Values, outcome: Outcome) -> str:
    """A parked job that ran goes back to the open lane, unless it is parked anew or belongs elsewhere."""
    lane: str = job["lane"]
    if outcome.park is None:
        return outcome.lane or (job["queue"] if is_parked(lane) else lane)
    park = outcome.park
    lane = parked_lane(job["queue"], park)
    tx.change("lanes_open", (lane, job["queue"], park.task, park.misfit, park.reason))
    return lane


def _bury(tx: Tx, job: Values, reason: str | None, error: Values | None) -> None:
    tx.change(
        "bury", job | {"reason": reason, "error": None if error is None else _dump(error), "now": tx.now}
    )
    tx.count_dead(job["queue"], 1)


def _stamped(error: str | None, now: int) -> Values | None:
    return None if error is None else json.loads(error) | {"at": instant(now).isoformat()}


def _appended(history: str | None, error: Values | None) -> str | None:
    if error is None:
        return history
    errors = json.loads(history) if history else []
    return _dump([*errors, error][-ERRORS_KEPT:])


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
