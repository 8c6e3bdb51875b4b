"""Writing how runs ended. Plain completions go by the batch, all other ends one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.engine import Settled, Settlement, Want
from penstock.engines.sqlite.claim import claim
from penstock.engines.sqlite.ending import end_run, take_back
from penstock.engines.sqlite.ends import Ends
from penstock.engines.sqlite.enqueue import enqueue
from penstock.engines.sqlite.haul import Haul
from penstock.engines.sqlite.health import End, asked_for, tell
from penstock.engines.sqlite.leave import look_after
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.ties import resolve
from penstock.engines.sqlite.traits import FEEDS
from penstock.model.errors import WorkerExpired
from penstock.model.job import NewJob
from penstock.model.outcome import NOT_RECEIVED, Completed
from penstock.model.states import State

_ACTIVE, _COMPLETED = State.ACTIVE.value, State.COMPLETED.value


class Written(NamedTuple):
    """What a settle came to; what it claimed is still to be read."""

    accepted: list[bool]
    haul: Haul | None  # None: the worker is not alive

    def read(self) -> Settled:
        if self.haul is None:
            return Settled(self.accepted, [], expired=True)
        claims, next_in, _ = self.haul.read()
        return Settled(self.accepted, claims, next_in=next_in)


def settle(tx: Tx, ends: Ends, want: Want | None, *, again: bool) -> Written:
    """Settle, put in what follows, then claim."""
    done = _complete(tx, ends)
    if len(done) == len(ends.all):
        held = accepted = [True] * len(ends.all)  # as nearly always
    else:
        held = [_is_held(tx, end, done) for end in ends.all]
        accepted = [now or (again and _had_ended(tx, end)) for end, now in zip(ends.all, held, strict=True)]
    if followers := [job for end, now in zip(ends.all, held, strict=True) if now for job in _followers(end)]:
        enqueue(tx, followers, again=True)
    return Written(accepted, _next(tx, want))


def complete(tx: Tx, end: Settlement) -> bool:
    """Settle one run that completed, on a connection that may have settled none before."""
    tx.change("ends_create")
    [accepted] = settle(tx, Ends([end]), None, again=False).accepted
    return accepted


def progress(tx: Tx, job_id: str, token: str, text: str) -> bool:
    """Store how far a run is, where it is still the caller's."""
    return tx.change("progress", (text, job_id, token)) == 1


def release(tx: Tx, worker: str, request: str) -> int:
    """Hand back what one claim took and nobody received."""
    rows = tx.rows("held_by_request", (worker, request))
    for row in rows:
        take_back(tx, row, NOT_RECEIVED)
    return len(rows)


def _complete(tx: Tx, ends: Ends) -> set[tuple[str, str]]:
    """Move completed jobs over, all at once; id and token of those that were the caller's.

    Each statement is one step whatever the number of rows: between steps the interpreter takes its lock back,
    and then the handlers could not run meanwhile.
    """
    runs = ends.completed
    if not runs:
        return set()
    if ends.plain is not None:
        tx.change("ends_add_plain", (ends.plain,))
    if ends.others is not None:
        tx.change("ends_add", (ends.others,))
    counts = tx.rows("ends_count")
    accepted = set(runs)
    if sum([row["jobs"] for row in counts]) < len(runs):
        tx.change("ends_refuse")
        accepted = {(row["id"], row["token"]) for row in tx.rows("ends_accepted")}
    tx.change("complete", {"now": tx.now})
    traits, watched = 0, False
    for queue, lane, kept, n, theirs in counts:
        watched = watched or bool(asked_for(tx, queue, lane))
        traits |= theirs
        tx.count(queue, _ACTIVE, lane, -n)
        if kept:
            tx.count(queue, _COMPLETED, lane, n)
    if not ends.all_kept:
        tx.change("ends_remember", (tx.now,))
        tx.change("ends_free_keys", (tx.now,))
    if watched:
        healthy = {end.id: end.outcome.healthy for end in runs.values()}
        tell(
            tx,
            [End(row["id"], row["queue"], row["lane"], healthy[row["id"]]) for row in tx.rows("ends_lanes")],
        )
    special = tx.rows("ends_special") if traits else ()
    tx.change("jobs_remove")
    tx.change("ends_clear")
    for row in special:
        look_after(tx, dict(row), State.COMPLETED, keep=row["kept"])
    resolve(tx, [(row["id"], State.COMPLETED) for row in special if row["traits"] & FEEDS])
    return accepted


def _followers(end: Settlement) -> Sequence[NewJob]:
    return end.then if type(end.outcome) is Completed else ()


def _is_held(tx: Tx, end: Settlement, done: set[tuple[str, str]]) -> bool:
    """Whether the run was its holder's to end, as it now has; once, however often it is told of."""
    if type(end.outcome) is not Completed:
        return _end(tx, end)
    held = (end.id, end.token) in done
    done.discard((end.id, end.token))
    return held


def _end(tx: Tx, end: Settlement) -> bool:
    row = tx.row("held", (end.id, end.token))
    if row is None:
        return False
    end_run(tx, dict(row), end.outcome, end.ran_for, keep=end.keep)
    return True


def _had_ended(tx: Tx, end: Settlement) -> bool:
    """Whether an earlier call with this token got through. Where none is kept, no record is the proof."""
    row = tx.row("token", {"id": end.id})
    if row is None:
        return not end.keep and type(end.outcome) is Completed
    return bool(row["token"] == end.token and row["state"] != _ACTIVE)


def _next(tx: Tx, want: Want | None) -> Haul | None:
    """The next claims; None where the worker is not alive."""
    if want is None:
        return Haul()
    try:
        return claim(tx, want)
    except WorkerExpired:
        return None
