"""An outbox in a file of SQLite: rows are held by their time, which a relay puts off before it has them."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from penstock import crash_points
from penstock.engine import EffectRecord
from penstock.engines.sqlite.failures import typed
from penstock.engines.sqlite.instants import SECOND, instant, micro, now_by
from penstock.model.clock import Clock
from penstock.model.errors import EngineError, InvalidOption
from penstock.outbox.store import (
    KEYS,
    LATE,
    MOST_COUNTED,
    MOST_SHOWN,
    RUN,
    STEP,
    STEP_BYTES,
    Dispatch,
    EffectPage,
    Other,
    Refused,
    Row,
    Served,
    Status,
    Verdict,
    missing,
)
from penstock.outbox.tables import sql
from penstock.patience import to_the_end

T = TypeVar("T")

LEASE = 10.0  # seconds after which another relay may have the rows
BUSY_SECONDS = 5.0  # to wait for a write transaction of the user's
_HOLDS_JOBS = "select 1 from sqlite_master where type = 'table' and name = 'penstock_jobs'"
LOOK_EVERY = 0.25  # seconds between looks at the file, while waiting


class SqliteStore:
    """One connection, used by one thread at a time."""

    def __init__(self, path: str, clock: Clock, destination: str) -> None:
        self._destination = destination
        self._path = Path(path).absolute()
        self._clock = clock
        self._sql = sql("sqlite")
        self._connection: sqlite3.Connection | None = None
        self._turn = asyncio.Lock()
        self._version = -1
        self._after = ""  # the order key up to which the last round looked

    async def open(self) -> None:
        await self._do(lambda connection: connection.execute(self._sql["check"]))

    async def close(self) -> None:
        async with self._turn:
            self._disconnect()

    # -- relay ----------------------------------------------------------------------------------------
    async def serve(self, dispatch: Dispatch) -> Served:
        rows = await self._do(self._take)
        if not rows:
            return Served(Verdict([], [], []), more=self._after != "")
        try:
            verdict = await dispatch(rows)
        except BaseException:
            await self._do(partial(self._give_back, [row.seq for row in rows]))
            raise
        await self._do(partial(self._write, rows, verdict))
        return Served(verdict, more=self._after != "" or len(rows) > len(verdict.refused))

    def _take(self, connection: sqlite3.Connection) -> list[Row]:
        now = now_by(self._clock)
        if not self._rows(connection, "due", now=now)[0][0]:
            return []
        with _writing(connection):
            rows = _within(STEP_BYTES, self._rows(connection, "take", now=now, limit=STEP), now)
            rows += self._take_in_order(connection, now)
            self._hold(connection, [row.seq for row in rows], now + micro(LEASE))
        return rows

    def _take_in_order(self, connection: sqlite3.Connection, now: int) -> list[Row]:
        keys = self._rows(connection, "order_keys", after=self._after, limit=KEYS)
        self._after = keys[-1][0] if len(keys) == KEYS else ""
        rows: list[Row] = []
        for (key,) in keys:
            run = self._rows(connection, "take_in_order", order_key=key, now=now, limit=RUN)
            rows += _within(STEP_BYTES, run, now)
            if len(rows) >= STEP or sum(len(row.jobs) for row in rows) >= STEP_BYTES:
                self._after = key  # the others are next
                break
        return rows

    def _write(self, rows: list[Row], verdict: Verdict, connection: sqlite3.Connection) -> None:
        now = now_by(self._clock)
        told = {*verdict.dispatched, *(refusal.seq for refusal in verdict.refused)}
        with _writing(connection):
            self._run(connection, "mark", seqs=json.dumps(verdict.dispatched), now=now)
            for seq, holder in verdict.duplicates:
                self._run(connection, "duplicate", seq=seq, holder=holder)
            for seq, error, retry_in in verdict.refused:
                self._run(connection, "refuse", seq=seq, error=error, next_try_at=now + micro(retry_in))
            self._hold(connection, [row.seq for row in rows if row.seq not in told], now)
            crash_points.passing("outbox-marked")

    def _give_back(self, seqs: list[int], connection: sqlite3.Connection) -> None:
        with _writing(connection):
            self._hold(connection, seqs, now_by(self._clock))

    def _hold(self, connection: sqlite3.Connection, seqs: list[int], until: int) -> None:
        if seqs:
            self._run(connection, "hold", seqs=json.dumps(seqs), until=until)

    async def wait(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not await self._do(self._changed) and time.monotonic() < end:  # noqa: ASYNC110 - another process
            await asyncio.sleep(LOOK_EVERY * random.uniform(0.8, 1.2))

    def _changed(self, connection: sqlite3.Connection) -> bool:
        """Whether another connection has committed since the last look."""
        before, self._version = self._version, connection.execute("pragma data_version").fetchone()[0]
        return self._version != before

    async def prune(self, older_than: float, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            now = now_by(self._clock)
            with _writing(connection):
                return self._run(connection, "prune", before=now - micro(older_than), limit=limit)

        return await self._do(work)

    async def prune_effects(self, limit: int) -> int:
        def work(connection: sqlite3.Connection) -> int:
            with _writing(connection):
                return self._run(connection, "prune_effects", now=now_by(self._clock), limit=limit)

        return await self._do(work)

    async def effects(self, page: EffectPage) -> list[EffectRecord]:
        rows = await self._do(lambda connection: self._rows(connection, "effects", **page.values()))
        return [EffectRecord(*row[:4], *map(instant, row[4:])) for row in rows]

    # -- people ---------------------------------------------------------------------------------------
    async def status(self) -> Status:
        def work(connection: sqlite3.Connection) -> Status:
            now = now_by(self._clock)
            [(waiting, oldest, refused)] = self._rows(connection, "status", most=MOST_COUNTED)
            errors = self._rows(connection, "refused", limit=MOST_SHOWN)
            others = self._rows(connection, "others", most=MOST_COUNTED, limit=MOST_SHOWN)
            return Status(
                waiting,
                0.0 if oldest is None else (now - oldest) / SECOND,
                refused,
                tuple(Refused(*row)._replace(retry_in=(row[4] - now) / SECOND) for row in errors),
                tuple(
                    Other(*row)._replace(lag=(now - row[2]) / SECOND) for row in others if _late(row[2], now)
                ),
            )

        return await self._do(work)

    async def apply(self, plan: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(_HOLDS_JOBS).fetchone():
                raise InvalidOption(
                    f"{self._path} holds the jobs of an engine, and its own table penstock_effects: "
                    "name another file"
                )
            connection.executescript(f"begin immediate; {plan} commit")

        await self._do(work, mode="rwc")

    # -- connection -----------------------------------------------------------------------------------
    async def _do(self, work: Callable[[sqlite3.Connection], T], mode: str = "rw") -> T:
        async with self._turn:
            # Nobody can stop a thread, and the connection is in its hand.
            return await to_the_end(asyncio.to_thread(self._at_work, work, mode))

    def _at_work(self, work: Callable[[sqlite3.Connection], T], mode: str) -> T:
        try:
            if self._connection is None:
                self._connection = self._connect(mode)
            return work(self._connection)
        except sqlite3.Error as error:
            self._disconnect()
            raise self._typed(error) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._version = -1
        if connection is not None:
            connection.close()

    def _typed(self, error: sqlite3.Error) -> EngineError:
        if str(error).startswith(("no such table", "no such column")):
            return missing(f"{self._path}: {error}")
        if not self._path.exists() and self._path.parent.is_dir():
            return missing(f"there is no file {self._path}")
        return typed(error, str(self._path))

    def _run(self, connection: sqlite3.Connection, name: str, **values: Any) -> int:
        return connection.execute(self._sql[name], self._values(values)).rowcount

    def _rows(self, connection: sqlite3.Connection, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return connection.execute(self._sql[name], self._values(values)).fetchall()

    def _values(self, values: dict[str, Any]) -> dict[str, Any]:
        return {"destination": self._destination, **values}


def _late(since: int, now: int) -> bool:
    return now - since >= micro(LATE)


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _within(most: int, found: Iterable[tuple[Any, ...]], now: int) -> list[Row]:
    """As many rows as have not more characters than that, but one at least."""
    rows: list[Row] = []
    for seq, order_key, jobs, created_at, tries in found:
        most -= len(jobs)
        if rows and most < 0:
            break
        rows.append(Row(seq, order_key, jobs, (now - created_at) / SECOND, tries))
    return rows
