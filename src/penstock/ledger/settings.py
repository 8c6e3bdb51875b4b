"""What people have set and a ledger keeps: which queues are paused, and the schedules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import ScheduleRow
from penstock.ledger.database import Database, Say
from penstock.ledger.rows import written


class Settings:
    """Each verb is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._database.run([Say("set_paused", {"queue": queue, "paused": paused})])

    async def pauses(self) -> dict[str, bool]:
        """Queues that somebody has paused, or resumed."""
        (rows,) = await self._database.run([Say("pauses", {})])
        return {queue: bool(paused) for queue, paused in rows}

    async def keep(self, schedules: Sequence[ScheduleRow]) -> None:
        rows = [
            {
                "id": row.id,
                "spec": row.spec,
                "source": row.source,
                "next_at": row.next_at and written(row.next_at),
                "paused": row.paused,
            }
            for row in schedules
        ]
        await self._database.run([Say("keep_schedules", {"rows": json.dumps(rows, ensure_ascii=False)})])

    async def next_tick(self, schedule: str, next_at: datetime | None) -> None:
        await self._database.run([Say("next_tick", {"id": schedule, "next_at": next_at})])

    async def drop(self, schedules: Sequence[str]) -> None:
        rows = json.dumps([{"id": schedule} for schedule in schedules], ensure_ascii=False)
        await self._database.run([Say("drop_schedules", {"rows": rows})])

    async def schedules(self) -> list[ScheduleRow]:
        (rows,) = await self._database.run([Say("schedules", {})])
        return [
            ScheduleRow(id=name, spec=spec, source=source, next_at=next_at, paused=bool(paused))
            for name, spec, source, next_at, paused in rows
        ]
