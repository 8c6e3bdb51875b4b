"""One thread writes, and many verbs share a commit."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from penstock.engines.sqlite.deliver import Answer, Work, deliver
from penstock.engines.sqlite.failures import is_callers_fault, typed
from penstock.engines.sqlite.freed import finish
from penstock.engines.sqlite.session import Tx
from penstock.engines.sqlite.store import Store
from penstock.model.errors import EngineError

T = TypeVar("T")

HOLD = 0.05  # seconds after which a batch takes no more verbs in, so that other processes get their turn


class Writer:
    """Takes verbs from any thread or loop and acknowledges each after the commit it shares."""

    def __init__(self, store: Store, woken: Callable[[set[str]], None]) -> None:
        self._store = store
        self._woken = woken
        self._inbox: SimpleQueue[Work | None] = SimpleQueue()
        self._pending: deque[Work] = deque()  # of the thread alone
        self._gate = threading.Lock()  # nothing enters the inbox behind the order to stop
        self._stopped = False
        self._thread = threading.Thread(target=self._loop, name="penstock-sqlite-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued, and end. Blocks."""
        with self._gate:
            if not self._stopped:
                self._stopped = True
                self._inbox.put(None)
        self._thread.join()

    async def run(self, verb: Callable[[Tx], T]) -> T:
        """Queue a verb and wait for the commit that holds it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._gate:
            if self._stopped:
                raise EngineError("the engine is closed; open it again")
            self._inbox.put(Work(verb, future))
        return await future

    def _loop(self) -> None:
        while self._fill():
            self._batch()

    def _fill(self) -> bool:
        """Take in all that is queued, waiting for the first; False once told to stop and all is done."""
        try:
            work = self._inbox.get(block=not self._pending)
            while work is not None:
                self._pending.append(work)
                work = self._inbox.get_nowait()
        except Empty:
            return True
        self._inbox.put(None)  # for the round after the last work
        return bool(self._pending)

    def _batch(self) -> None:
        """One commit for all that is pending. What cannot be committed is refused; the thread lives on."""
        taken: list[Work] = []
        try:
            with self._store.turn():
                self._commit_and_fold(taken)
        except Exception as error:  # noqa: BLE001 - it travels to the callers
            failure = typed(error, self._store.database) if isinstance(error, sqlite3.Error) else error
            deliver([Answer(work.future, None, failure) for work in taken])

    def _commit_and_fold(self, taken: list[Work]) -> None:
        try:
            deliver(self._commit(taken))
            taken.clear()
            self._store.fold_log()
        except Exception as error:
            self._store.recover_from(error)
            raise

    def _commit(self, taken: list[Work]) -> list[Answer]:
        alone = len(self._pending) == 1
        connection = self._begin(taken)
        answers: list[Answer] = []
        woken: set[str] = set()
        fold_log = False
        deadline = time.monotonic() + HOLD
        while self._pending and (not answers or time.monotonic() < deadline):
            work = self._pending.popleft()
            taken.append(work)
            tx = self._store.transaction()
            answers.append(_answer(work, tx, savepoint=not alone))
            woken |= tx.woken
            fold_log |= tx.fold_log
        self._end(connection, answers)
        if fold_log:
            self._store.fold_log(at_once=True)
        if woken:
            self._woken(woken)
        return answers

    def _begin(self, taken: list[Work]) -> sqlite3.Connection:
        try:
            return self._store.begin()
        except BaseException:
            taken.extend(self._pending)
            self._pending.clear()
            raise

    def _end(self, connection: sqlite3.Connection, answers: list[Answer]) -> None:
        if not connection.in_transaction:
            return  # the only verb failed and was undone
        try:
            connection.execute("commit")
        except sqlite3.Error as error:
            self._store.recover_from(error)
            failure = typed(error, self._store.database, committing=True)
            answers[:] = [Answer(a.future, None, a.error or failure) for a in answers]


def _answer(work: Work, tx: Tx, *, savepoint: bool) -> Answer:
    """Run one verb; its failure spoils no other, unless the database itself is in trouble."""
    connection = tx.connection
    if savepoint:
        connection.execute("savepoint verb")
    try:
        value: Any = work.verb(tx)
        finish(tx)
    except Exception as error:
        if isinstance(error, sqlite3.Error) and not is_callers_fault(error):
            raise
        tx.woken.clear()
        connection.execute("rollback to verb" if savepoint else "rollback")
        failure = typed(error, "sqlite") if isinstance(error, sqlite3.Error) else error
        return Answer(work.future, None, failure)
    finally:
        if savepoint and connection.in_transaction:
            connection.execute("release verb")
    return Answer(work.future, value, None)
