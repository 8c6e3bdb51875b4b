"""Taking jobs back from workers that are gone: their rows first and for good, then what they held."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from penstock.engine import Judge, Rescued, Settlement
from penstock.engines.postgres.database import Call, Connection, query
from penstock.engines.postgres.settle import other_call
from penstock.engines.postgres.straight import Rows
from penstock.model.job import Held
from penstock.model.states import State

logger = logging.getLogger(__name__)


class Rescue:
    """One rescue inside one transaction."""

    def __init__(
        self, connection: Connection, sql: dict[str, str], judge: Judge, now: datetime | None
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._judge = judge
        self._now = now

    async def expired(self, limit: int) -> list[Rescued]:
        """From every worker past its time; all that they held counts as started."""
        found = await self._rows("expired_workers", now=self._now)
        found = found or await self._rows("expired_workers_wait", now=self._now)
        workers = [worker for (worker,) in found]
        return await self._take(workers, limit, started=None) if workers else []

    async def one(self, worker: str, started: frozenset[str]) -> list[Rescued]:
        """From one worker, whether its time has passed or not."""
        await self._rows("give_up", worker=worker)
        return await self._take([worker], limit=None, started=started)

    async def _take(
        self, workers: list[str], limit: int | None, started: frozenset[str] | None
    ) -> list[Rescued]:
        held = await self._rows("held", workers=workers, limit=limit)
        ends: list[Settlement] = []
        owners: dict[str, str] = {}
        for job_id, token, task, queue, attempt, max_attempts, rescues, cancel, worker in held:
            begun = started is None or token in started
            job = Held(job_id, task, queue, attempt, max_attempts, rescues, begun, cancel, worker)
            owners[job_id] = worker
            ends += self._judged(job, token)
        rescued = await self._settle(ends)
        await self._rows("forget_workers", workers=workers)
        return [
            Rescued(job_id, queue, task, owners[job_id], State(state))
            for job_id, _, queue, task, state in rescued
        ]

    def _judged(self, held: Held, token: str) -> list[Settlement]:
        try:
            return [Settlement(held.id, token, self._judge(held))]
        except Exception:
            logger.exception("cannot judge job %s of a lost worker; it stays for the next rescue", held.id)
            return []

    async def _settle(self, ends: Sequence[Settlement]) -> Rows:
        """In one statement; where that fails one by one, so that a bad row holds up nobody else."""
        if not ends:
            return []
        try:
            async with self._connection.transaction():
                call = other_call(self._sql, ends, self._now, by_holder=False)
                return await query(self._connection, call)
        except (psycopg.Error, ValueError) as error:  # what no encoding has is refused before it is sent
            if self._connection.broken:
                raise
            if len(ends) == 1:
                logger.error("cannot take back job %s: %s", ends[0].id, type(error).__name__)
                return []
        return [row for end in ends for row in await self._settle([end])]

    async def _rows(self, statement: str, **values: Any) -> Rows:
        return await query(self._connection, Call(self._sql[statement], values))
