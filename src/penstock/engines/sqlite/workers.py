"""Workers: who lives, what they are told, and what is taken back from those that are gone."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable

from penstock.engine import CancelOrder, Judge, Order, Orders, Rescued, WorkerInfo
from penstock.engine.feeding import LISTENER_KEY, LISTENER_KIND
from penstock.engines.sqlite.beats import Beat
from penstock.engines.sqlite.ending import take_back
from penstock.engines.sqlite.failures import is_callers_fault
from penstock.engines.sqlite.instants import instant, micro, stored
from penstock.engines.sqlite.session import Session, Tx
from penstock.model.job import Held

log = logging.getLogger("penstock.engine")

NEVER = Beat(0, None)


def register(tx: Tx, worker: WorkerInfo, ttl: float) -> None:
    """Announce a worker. Its first heartbeat comes first: a row without one would count as given up."""
    tx.beats.begin(worker.id, tx.now + micro(ttl))
    tx.change(
        "register",
        (
            worker.id,
            worker.name,
            json.dumps(worker.queues),
            worker.slots,
            tx.now if worker.started_at is None else stored(worker.started_at),
        ),
    )


def beat(session: Session, worker: str, ttl: float, memory: int | None) -> Orders:
    """Extend a worker's time, unless it is over, and read what it must know."""
    row = session.row("worker_ordered", (worker,))
    if row is None or not session.beats.extend(worker, session.now + micro(ttl), session.now, memory):
        return Orders(given_up=True)
    cancel = tuple(CancelOrder(row["id"], row["token"]) for row in session.rows("cancel_orders", (worker,)))
    paused = frozenset(row["name"] for row in session.rows("queues_paused"))
    listener = {"kind": LISTENER_KIND, "key": LISTENER_KEY, "now": session.now}
    watched = session.row("note", listener) is not None
    return Orders(cancel=cancel, paused=paused, watched=watched, order=_order(row["ordered"]))


def order(tx: Tx, worker: str, order: Order | None) -> bool:
    """Keep an order for a worker, unless its time is over."""
    return tx.beats.until(worker) > tx.now and tx.change("order_worker", (order and order.value, worker)) == 1


def _order(text: str | None) -> Order | None:
    return None if text is None else Order(text)


def workers(session: Session) -> list[WorkerInfo]:
    """Every registered worker, with what it holds."""
    beats = session.beats.all()
    return [_info(row, beats.get(row["id"]), session.now) for row in session.rows("workers")]


def any_expired(session: Session) -> bool:
    """Whether a rescue has anything to do: asked before it takes its turn to write."""
    beats = session.beats.all()
    return any(beats.get(row["id"], NEVER).until <= session.now for row in session.rows("worker_ids"))


def rescue(tx: Tx, limit: int, judge: Judge) -> list[Rescued]:
    """Take jobs back from all workers whose time has passed, after making that final."""
    tx.beats.end_passed(tx.now)
    alive = tx.beats.all()
    rescued: list[Rescued] = []
    for row in tx.rows("worker_ids"):
        if row["id"] not in alive:
            rescued += _take_back(tx, row["id"], limit - len(rescued), lambda _: True, judge)
    return rescued


def rescue_worker(tx: Tx, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
    """Take everything back from one worker that is known to be dead."""
    tx.beats.end(worker)
    return _take_back(tx, worker, -1, started.__contains__, judge)


def _take_back(
    tx: Tx, worker: str, limit: int, started: Callable[[str], bool], judge: Judge
) -> list[Rescued]:
    rescued = []
    for row in tx.rows("held_by", (worker, limit)):
        taken = _rescue_one(tx, row, judge, started=started(row["token"]))
        if taken:
            rescued.append(taken)
    if tx.row("held_by", (worker, 1)) is None:
        tx.change("workers_delete", (worker,))
    return rescued


def _rescue_one(tx: Tx, row: sqlite3.Row, judge: Judge, *, started: bool) -> Rescued | None:
    """One job that cannot be judged, or whose end cannot be stored, keeps no other from being rescued."""
    part = tx.part()
    tx.connection.execute("savepoint rescue")
    try:
        state = take_back(part, row, judge(_held(row, started=started)))
    except Exception as error:
        if isinstance(error, sqlite3.Error) and not is_callers_fault(error):
            raise  # it is the database that is in trouble
        log.exception("job %s of worker %s could not be rescued", row["id"], row["worker"])
        tx.connection.execute("rollback to rescue")
        return None
    finally:
        if tx.connection.in_transaction:
            tx.connection.execute("release rescue")
    tx.absorb(part)
    return Rescued(row["id"], row["queue"], row["task"], row["worker"], state)


def _held(row: sqlite3.Row, *, started: bool) -> Held:
    return Held(
        id=row["id"],
        task=row["task"],
        queue=row["queue"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        rescues=row["rescues"],
        started=started,
        cancel_requested=bool(row["cancel_requested"]),
        worker=row["worker"],
    )


def _info(row: sqlite3.Row, beat: Beat | None, now: int) -> WorkerInfo:
    return WorkerInfo(
        id=row["id"],
        name=row["name"],
        queues=tuple(json.loads(row["queues"])),
        slots=row["slots"],
        started_at=instant(row["started_at"]),
        expires_at=None if beat is None else instant(beat.until),
        active=row["active"],
        alive=beat is not None and beat.until > now,
        order=_order(row["ordered"]),
        memory=None if beat is None else beat.memory,
    )
