"""What people set is kept in the ledger, and given back to an engine that has lost it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from penstock.engine import ScheduleRow, Survey, WorkerInfo
from penstock.ledger.delegate import Delegate
from penstock.ledger.settings import Settings
from penstock.model.errors import EngineUnavailable

log = logging.getLogger("penstock.ledger")


class Kept(Delegate):
    """A pause holds from when the ledger has it: what Redis gives out of a paused queue does not begin."""

    _settings: Settings

    async def give_back(self) -> None:
        """What the engine does not know, before anything is dispatched to it."""
        await self._give_back_pauses()
        await self._give_back_schedules()

    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        await self.give_back()
        await super().register(worker, ttl)

    # -- queues ----------------------------------------------------------------------------------------
    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._settings.set_paused(queue, paused)
        try:
            await super().set_paused(queue, paused)
        except EngineUnavailable as error:
            log.warning("queue %r is %s; Redis is told later: %s", queue, _word(paused), error)

    async def _give_back_pauses(self) -> None:
        if wanted := await self._settings.pauses():
            engine = await self._engine()
            told = {state.queue: state.paused for state in await engine.queues()}
            for queue, paused in wanted.items():
                if told.get(queue, False) != paused:
                    log.warning("reconciled: queue %r is %s, which Redis did not know", queue, _word(paused))
                    await engine.set_paused(queue, paused)

    # -- schedules -------------------------------------------------------------------------------------
    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        await self._give_back_schedules()
        await super().put_schedules(schedules)
        await self._keep({row.id for row in schedules})

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        await self._give_back_schedules()
        found = await super().pause_schedule(schedule_id, paused, next_at)
        await self._keep({schedule_id})
        return found

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        await self._give_back_schedules()
        await self._settings.drop(ids)
        return await (await self._engine()).remove_schedules(ids)

    async def schedules(self) -> list[ScheduleRow]:
        return await self._give_back_schedules()

    async def survey(self, reach: float) -> Survey:
        return (await super().survey(reach))._replace(schedules=await self.schedules())

    async def _keep(self, ids: set[str]) -> None:
        """As the engine has them now."""
        if kept := [row for row in await super().schedules() if row.id in ids]:
            await self._settings.keep(kept)

    async def _give_back_schedules(self) -> list[ScheduleRow]:
        """All that the engine has then."""
        there = await super().schedules()
        known = {row.id for row in there}
        lost = [row for row in await self._settings.schedules() if row.id not in known]
        if not lost:
            return there
        for row in lost:
            log.warning("reconciled: schedule %r was lost by Redis; it is there again", row.id)
        await super().put_schedules(lost)
        return await super().schedules()


def _word(paused: bool) -> str:
    return "paused" if paused else "resumed"
