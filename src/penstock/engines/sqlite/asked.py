"""What a person may ask an engine. Every question is answered from an index."""

from __future__ import annotations

from penstock.engine import (
    DeadFilter,
    EffectFilter,
    EffectName,
    EffectRecord,
    Flow,
    HistoryFilter,
    JobFilter,
    Parked,
    QueueState,
    Standing,
    Survey,
    WorkerInfo,
)
from penstock.engines.sqlite import effects as effect_rows
from penstock.engines.sqlite import flows, histories, inspection, steps, surveying, workers
from penstock.engines.sqlite.opened import Opened
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record


class Asked(Opened):
    """The verbs that look."""

    async def survey(self, reach: float) -> Survey:
        return await self._read(lambda view: surveying.survey(view, reach))

    async def get(self, job_id: str) -> Job | None:
        return await self._read(lambda view: inspection.get(view, job_id))

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        told = self._clock.now() is None  # ids are made by a host's clock, whatever a test's says
        return await self._read(lambda view: inspection.jobs(view, where, limit, after, ids_tell_time=told))

    async def history(self, job_id: str) -> Record | None:
        return await self._read(lambda view: histories.history(view, job_id))

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        told = self._clock.now() is None
        return await self._read(
            lambda view: histories.histories(view, where, limit, after, ids_tell_time=told)
        )

    async def steps(self, job_id: str) -> dict[str, str]:
        return await self._read(lambda view: steps.steps(view, job_id))

    async def flow(self, flow_id: str) -> Flow | None:
        return await self._read(lambda view: flows.flow(view, flow_id))

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        return await self._read(lambda view: flows.flows(view, limit, after))

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        return await self._read(lambda view: inspection.dead_letters(view, where, limit, after))

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        return await self._read(lambda view: inspection.dead_letter(view, job_id))

    async def effects(
        self, where: EffectFilter, limit: int, after: EffectName | None = None
    ) -> list[EffectRecord]:
        return await self._read(lambda view: effect_rows.effects(view, where, limit, after))

    async def queues(self) -> list[QueueState]:
        return await self._read(inspection.queues)

    async def standing(self, job_id: str, most: int) -> Standing | None:
        return await self._read(lambda view: inspection.standing(view, job_id, most))

    async def unfinished_of(self, owner: str, most: int) -> int:
        return await self._read(lambda view: inspection.unfinished_of(view, owner, most))

    async def dead_count(self) -> int:
        return await self._read(inspection.dead_count)

    async def workers(self) -> list[WorkerInfo]:
        return await self._current().beats.run(workers.workers)

    async def parked(self) -> list[Parked]:
        return await self._read(inspection.parked)

    # -- within -----------------------------------------------------------------------------------
