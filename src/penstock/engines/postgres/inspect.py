"""The engine's foundation, and the verbs that only look."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.engine import (
    OLDEST_LANES,
    DeadFilter,
    EffectFilter,
    EffectName,
    EffectRecord,
    Flow,
    HistoryFilter,
    JobFilter,
    Order,
    Parked,
    QueueState,
    Standing,
    WorkerInfo,
)
from penstock.engines.postgres import listing
from penstock.engines.postgres.base import Base
from penstock.engines.postgres.database import Call
from penstock.engines.postgres.straight import Rows
from penstock.engines.records import dead_letter_from, job_from, record_from
from penstock.model.ids import is_id
from penstock.model.job import DeadLetter, Job
from penstock.model.record import Record
from penstock.model.states import State


class Inspection(Base):
    """Every verb here is bounded, and none changes anything."""

    async def get(self, job_id: str) -> Job | None:
        if not is_id(job_id):
            return None
        rows = await self._database.records(Call(self._sql["get"], {"id": job_id}))
        return _job(rows[0]) if rows else None

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        ids_tell_time = self._clock.now() is None  # they are made by a host's clock, whatever a test's says
        page = listing.job_page(self._sql["list_jobs"], where, limit, after, ids_tell_time=ids_tell_time)
        return [_job(row) for row in await self._database.records(page, for_these_values=True)]

    async def history(self, job_id: str) -> Record | None:
        if not is_id(job_id):
            return None
        rows = await self._database.records(listing.one_record(self._sql["list_history"], job_id))
        return record_from(rows[0], _instant) if rows else None

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        ids_tell_time = self._clock.now() is None
        page = listing.history_page(
            self._sql["list_history"], where, limit, after, ids_tell_time=ids_tell_time
        )
        rows = await self._database.records(page, for_these_values=True)
        return [record_from(row, _instant) for row in rows]

    async def steps(self, job_id: str) -> dict[str, str]:
        return dict(await self._do("steps", id=job_id)) if is_id(job_id) else {}

    async def flow(self, flow_id: str) -> Flow | None:
        members = Call(self._sql["flow_jobs"], {"flow": flow_id})
        found = await self._do("flow", flow=flow_id)
        jobs = [_job(row) for row in await self._database.records(members)] if found else []
        return replace(_flow(*found[0]), jobs=tuple(jobs)) if found else None

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        return [_flow(*row) for row in await self._do("flows", limit=limit, after=after)]

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        page = listing.dead_page(self._sql["list_dead_letters"], where, limit, after)
        rows = await self._database.records(page, for_these_values=True)
        return [dead_letter_from(row, _instant, _load) for row in rows]

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        if not is_id(job_id):
            return None
        sql = self._sql["list_dead_letters"].replace("{where}", "job_id = %(id)s::uuid")
        rows = await self._database.records(Call(sql, {"id": job_id, "limit": 1}))
        return dead_letter_from(rows[0], _instant, _load) if rows else None

    async def effects(
        self, where: EffectFilter, limit: int, after: EffectName | None = None
    ) -> list[EffectRecord]:
        page = listing.effect_page(self._sql["effects"], where, limit, after)
        (rows,) = await self._database.run(page, repeatable=True)
        return [EffectRecord(*row[:4], *(at.astimezone(UTC) for at in row[4:])) for row in rows]

    async def queues(self) -> list[QueueState]:
        return queue_states(await self._do("queues"), await self._do("oldest", lanes=OLDEST_LANES))

    async def standing(self, job_id: str, most: int) -> Standing | None:
        found = await self._do("standing", id=job_id, most=most) if is_id(job_id) else []
        return Standing.counted(found[0][0], most) if found else None

    async def unfinished_of(self, owner: str, most: int) -> int:
        count: int = (await self._do("unfinished_of", owner=owner, most=most))[0][0]
        return count

    async def dead_count(self) -> int:
        count: int = (await self._do("dead_count"))[0][0]
        return count

    async def workers(self) -> list[WorkerInfo]:
        return [worker_info(*row) for row in await self._do("workers")]

    async def parked(self) -> list[Parked]:
        return [Parked(*row) for row in await self._do("parked")]


def queue_states(rows: Rows, heads: Rows) -> list[QueueState]:
    """The queues by their counts, and by when the first of each was due."""
    found: dict[str, tuple[bool, dict[State, int]]] = {}
    for queue, paused, state, n in rows:
        counts = found.setdefault(queue, (paused, dict.fromkeys(State, 0)))[1]
        if state is not None:
            counts[State(state)] += n
    oldest = {queue: _instant(due) for queue, due in heads}
    return [QueueState(queue, paused, counts, oldest.get(queue)) for queue, (paused, counts) in found.items()]


def worker_info(
    worker: str, name: str, queues: list[str], slots: int, started: datetime, expires: datetime | None,
    active: int, alive: bool, ordered: str | None, memory: int | None,
) -> WorkerInfo:  # fmt: skip
    """A worker from its row."""
    return WorkerInfo(
        id=worker,
        name=name,
        queues=tuple(queues),
        slots=slots,
        started_at=_instant(started),
        expires_at=_instant(expires),
        active=active,
        alive=alive,
        order=None if ordered is None else Order(ordered),
        memory=memory,
    )


def _job(row: dict[str, Any]) -> Job:
    return job_from(row, _instant, _load, after=row["after"], blocked_by=row["blocked_by"])


def _flow(flow_id: str, name: str, created: datetime, unfinished: int) -> Flow:
    return Flow(id=flow_id, name=name, created_at=created.astimezone(UTC), unfinished=unfinished)


def _instant(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _load(text: str | None) -> Any:
    return None if text is None else json.loads(text)
