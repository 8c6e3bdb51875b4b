"""What an app declares to an engine, and what follows from it: limits, breakers and schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from penstock.engine import (
    DueSchedules,
    Entry,
    Group,
    GroupState,
    LaneState,
    LimitState,
    ScheduleRow,
    Tick,
    TickRecord,
)
from penstock.engines.sqlite import breakers as breaker_rows
from penstock.engines.sqlite import groups as group_rows
from penstock.engines.sqlite import health, lanes, limits
from penstock.engines.sqlite import schedules as schedule_rows
from penstock.engines.sqlite.opened import Opened
from penstock.model.breaker import Breaker, BreakerState, Circuit


class Declared(Opened):
    """The verbs about groups, breakers and schedule_rows."""

    async def put_groups(self, groups: Sequence[Group]) -> None:
        await self._write(lambda tx: lanes.put_groups(tx, groups))

    async def groups(self) -> list[GroupState]:
        return await self._read(group_rows.groups)

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        return await self._read(lambda view: lanes.lanes(view, group, limit, after))

    async def limits_of(self, lane: str) -> list[LimitState]:
        return await self._read(lambda view: limits.limits_of(view, lane))

    async def put_breakers(self, breakers: Sequence[Breaker]) -> None:
        await self._write(lambda tx: breaker_rows.put_breakers(tx, breakers))

    async def enter_breaker(self, name: str, permit: str) -> Entry:
        return await self._write(lambda tx: breaker_rows.enter_breaker(tx, name, permit))

    async def report_breaker(self, name: str, permit: str, healthy: bool | None) -> None:
        await self._write(lambda tx: health.report_breaker(tx, name, permit, healthy))

    async def set_breaker(self, name: str, circuit: Circuit) -> bool:
        return await self._write(lambda tx: health.set_breaker(tx, name, circuit))

    async def breakers(self) -> list[BreakerState]:
        return await self._read(breaker_rows.breakers)

    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        await self._write(lambda tx: schedule_rows.put_schedules(tx, schedules))

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        return await self._write(lambda tx: schedule_rows.remove_schedules(tx, ids))

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        return await self._write(lambda tx: schedule_rows.pause_schedule(tx, schedule_id, paused, next_at))

    async def due_schedules(self, limit: int) -> DueSchedules:
        return await self._read(lambda view: schedule_rows.due_schedules(view, limit))

    async def fire(self, tick: Tick) -> TickRecord | None:
        return await self._write(lambda tx: schedule_rows.fire(tx, tick))

    async def schedules(self) -> list[ScheduleRow]:
        return await self._read(schedule_rows.schedules)

    async def ticks(self, schedule_id: str, limit: int) -> list[TickRecord]:
        return await self._read(lambda view: schedule_rows.ticks(view, schedule_id, limit))
