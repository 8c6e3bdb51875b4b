"""Writing how runs ended. Plain completions go by the batch, all other ends one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from penstock.engine import Claimed, Settled, Settlement, Want
from penstock.engines.sqlite.claim import claim
from penstock.engines.sqlite.ending import end_run, take_back
from penstock.engines.sqlite.enqueue import enqueue
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


def settle(tx: Tx, ends: Sequence[Settlement], want: Want | None, *, again: bool) -> Settled:
    """Settle, put in what follows, then claim."""
    done = _complete(tx, [end for end in ends if type(end.outcome) is Completed])
    if len(done) == len(ends):
        held = accepted = [True] * len(ends)  # as nearly always
    else:
        held = [_is_held(tx, end, done) for end in ends]
        accepted = [now or (again and _had_ended(tx, end)) for end, now in zip(ends, held, strict=True)]
    if followers := [job for end, now in zip(ends, held, strict=True) if now for job in _followers(end)]:
        enqueue(tx, followers, again=True)
    claimed = _next(tx, want)
    if claimed is None:
        return Settled(accepted, [], expired=True)
    return Settled(accepted, claimed.claims, next_in=claimed.next_in)


def complete(tx: Tx, end: Settlement) -> bool:
    """Settle one run that completed, on a connection that may have settled none before."""
    tx.change("ends_create")
    [accepted] = settle(tx, [end], None, again=False).accepted
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


def _complete(tx: Tx, ends: Sequence[Settlement]) -> set[tuple[str, str]]:
    """Move completed jobs over, all at once; id and token of those that were the caller's.

    Each statement is one step whatever the number of rows: between steps the interpreter takes its lock back,
    and then the handlers could not run meanwhile.
    """
    if not ends:
        return set()
    runs = {(end.id, end.token): end for end in ends}
    _add(tx, runs.values())
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
    if not all(end.keep for end in ends):
        tx.change("ends_remember", (tx.now,))
        tx.change("ends_free_keys", (tx.now,))
    if watched:
        healthy = {end.id: end.outcome.healthy for end in ends}
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


def _add(tx: Tx, ends: Iterable[Settlement]) -> None:
    """Put them where the statements find them. Most have nothing to say, and a list for each costs thrice."""
    plain, others = [], []
    for end in ends:
        id_, token, outcome = end.id, end.token, end.outcome
        if outcome.result is None and outcome.note is None and len(id_) == 36 and len(token) == 32:
            plain.append(f"{id_}{token}{_kept(end)}{end.ran_for!r}")
        else:
            others.append((id_, token, outcome.result, outcome.note, end.ran_for, _kept(end)))
    if plain:
        tx.change("ends_add_plain", (json.dumps(plain, ensure_ascii=False),))
    if others:
        tx.change("ends_add", (json.dumps(others, ensure_ascii=False),))


def _kept(end: Settlement) -> int:
    return 1 if end.keep else 2 if end.remember else 0


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


def _next(tx: Tx, want: Want | None) -> Claimed | None:
    """The next claims; None where the worker is not alive."""
    if want is None:
        return Claimed([])
    try:
        return claim(tx, want)
    except WorkerExpired:
        return None
