"""An outbox in PostgreSQL: rows are held by locks, which end with the relay that has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from penstock import crash_points
from penstock.engine import EffectRecord
from penstock.engines.postgres import failures
from penstock.engines.postgres.address import check_hosts
from penstock.engines.postgres.listener import Listener
from penstock.engines.postgres.pool import CALL_SECONDS, Pool, sever
from penstock.engines.postgres.straight import Rows, Session
from penstock.model.clock import Clock
from penstock.model.errors import EngineError
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

CHANNEL = "penstock_outbox"
_NO_TABLE = {"42P01", "42703"}  # undefined_table, undefined_column
# While the engine takes the rows our transaction stands still, which some servers end early.
_PATIENCE = "select set_config('idle_in_transaction_session_timeout', '120s', true)"
_LOCK = "select pg_advisory_xact_lock(hashtextextended('penstock outbox', 0))"


class PostgresStore:
    """One connection that works and one that listens, opened again whenever they are lost."""

    def __init__(self, url: str, clock: Clock, destination: str) -> None:
        check_hosts(url)
        self._clock = clock
        self._destination = destination
        self._pool = Pool(url, 1)
        self._listener = Listener(self._pool, CHANNEL)
        self._sql = sql("postgresql")
        self._session: Session | None = None
        self._after = ""  # the order key up to which the last round looked

    async def open(self) -> None:
        async with self._connected() as session:
            await self._rows(session, "check")

    async def close(self) -> None:
        await self._listener.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    # -- relay ----------------------------------------------------------------------------------------
    async def serve(self, dispatch: Dispatch) -> Served:
        async with self._connected() as session, session.transaction():
            with _in_time(session):
                await session.execute(_PATIENCE)
                rows = await self._take(session)
                more = len(rows) >= STEP
                rows += await self._take_in_order(session)
            verdict = await dispatch(rows) if rows else Verdict([], [], [])
            with _in_time(session):
                await self._write(session, verdict)
        return Served(verdict, more or self._after != "" or len(rows) > len(verdict.refused))

    async def _take(self, session: Session) -> list[Row]:
        return [Row(*row) for row in await self._rows(session, "take", limit=STEP, bytes=STEP_BYTES)]

    async def _take_in_order(self, session: Session) -> list[Row]:
        keys = [key for (key,) in await self._rows(session, "order_keys", after=self._after, limit=KEYS)]
        self._after = keys[-1] if len(keys) == KEYS else ""
        if not keys:
            return []
        bounds = {"limit": STEP, "bytes": STEP_BYTES, "run": RUN}
        return [Row(*row) for row in await self._rows(session, "take_in_order", keys=keys, **bounds)]

    async def _write(self, session: Session, verdict: Verdict) -> None:
        if verdict.dispatched:
            await self._rows(session, "mark", seqs=verdict.dispatched)
        if verdict.duplicates:
            seqs, holders = map(list, zip(*verdict.duplicates, strict=True))
            await self._rows(session, "duplicate", seqs=seqs, holders=holders)
        if verdict.refused:
            await self._rows(
                session,
                "refuse",
                seqs=[refusal.seq for refusal in verdict.refused],
                errors=[refusal.error for refusal in verdict.refused],
                waits=[refusal.retry_in for refusal in verdict.refused],
            )
        crash_points.passing("outbox-marked")

    async def wait(self, timeout: float) -> None:
        await self._listener.wait([CHANNEL], timeout)
        self._listener.look([CHANNEL])

    async def prune(self, older_than: float, limit: int) -> int:
        async with self._connected() as session:
            with _in_time(session):
                values = self._values(older_than=older_than, limit=limit)
                return (await session.execute(self._sql["prune"], values)).rowcount

    async def prune_effects(self, limit: int) -> int:
        async with self._connected() as session:
            with _in_time(session):
                gone = await session.execute(self._sql["prune_effects"], self._values(limit=limit))
                return gone.rowcount

    async def effects(self, page: EffectPage) -> list[EffectRecord]:
        async with self._connected() as session:
            with _in_time(session):
                rows = await self._rows(session, "effects", **page.values())
        return [EffectRecord(*row[:4], *(at.astimezone(UTC) for at in row[4:])) for row in rows]

    # -- people ---------------------------------------------------------------------------------------
    async def status(self) -> Status:
        async with self._connected() as session:
            with _in_time(session):
                ((waiting, lag, refused),) = await self._rows(session, "status", most=MOST_COUNTED)
                errors = await self._rows(session, "refused", limit=MOST_SHOWN) if refused else []
                others = await self._rows(session, "others", most=MOST_COUNTED, limit=MOST_SHOWN)
        return Status(
            waiting,
            lag or 0.0,
            refused,
            tuple(Refused(*row) for row in errors),
            tuple(other for other in (Other(*row) for row in others) if other.lag >= LATE),
        )

    async def apply(self, plan: str) -> None:
        async with self._connected() as session, session.transaction():
            await session.execute(_LOCK)
            await session.execute(plan.encode())

    # -- connection -----------------------------------------------------------------------------------
    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Session]:
        """The connection; where it fails, or its work is left halfway, it is not used again."""
        session = self._session
        if session is None or session.closed:
            session = self._session = await self._pool.connect()
        try:
            yield session
        except psycopg.Error as error:
            lost = failures.is_lost(error, session.broken)
            await session.close()
            raise _typed(error, lost=lost) from error
        finally:
            if session.closed or session.pgconn.transaction_status != TransactionStatus.IDLE:
                self._session = None
                await session.close()

    async def _rows(self, session: Session, name: str, /, **values: Any) -> Rows:
        cursor = await session.execute(self._sql[name], self._values(**values))
        return await cursor.fetchall() if cursor.description else []

    def _values(self, **values: Any) -> dict[str, Any]:
        return {"now": self._clock.now(), "destination": self._destination, **values}


@contextmanager
def _in_time(session: Session) -> Iterator[None]:
    """Cut the line where the server does not answer at all."""
    overrun = asyncio.get_running_loop().call_later(CALL_SECONDS, sever, session)
    try:
        yield
    finally:
        overrun.cancel()


def _typed(error: psycopg.Error, *, lost: bool) -> EngineError:
    what = str(error).partition("\n")[0]
    if not lost and error.sqlstate in _NO_TABLE:
        return missing(what)
    return failures.translate(error, lost=lost)
