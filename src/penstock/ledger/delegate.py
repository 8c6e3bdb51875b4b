"""The verbs that a ledger has little or no part in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from penstock.engine import (
    DeadFilter,
    DueSchedules,
    EffectFilter,
    EffectName,
    EffectRecord,
    Engine,
    Entry,
    FeedPage,
    Flow,
    Grip,
    Group,
    GroupState,
    JobEvent,
    JobFilter,
    LaneState,
    LimitState,
    Minute,
    Note,
    Order,
    Orders,
    Outlook,
    Parked,
    Quarter,
    QueueState,
    Sample,
    ScheduleRow,
    Standing,
    Survey,
    TickRecord,
    WorkerInfo,
)
from penstock.engine.notes import LASTING
from penstock.ledger.books import Books
from penstock.ledger.notes import LedgerNotes, Noting
from penstock.model.breaker import Breaker, BreakerState, Circuit
from penstock.model.job import DeadLetter, Job, NewJob
from penstock.model.states import State


class Fenced(Engine, Protocol):
    """An engine whose claims have a fence, with what a ledger asks of it beside the contract."""

    async def states(self, ids: Sequence[str]) -> list[State | None]: ...

    async def put_off(self, job: NewJob) -> bool:
        """A debounced job has what this one brings, under its id; False where it has begun."""
        ...

    async def held_by(self, worker: str) -> list[Grip]:
        """All that one worker holds."""
        ...


class Delegate(ABC):
    """Passes on to the engine, which is opened when it is first there."""

    _books: Books
    _notes: LedgerNotes

    @abstractmethod
    async def _engine(self) -> Fenced:
        """The engine, open; EngineUnavailable where it is away."""

    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        await (await self._engine()).register(worker, ttl)

    async def beat(self, worker: str, ttl: float, memory: int | None = None) -> Orders:
        return await (await self._engine()).beat(worker, ttl, memory)

    async def order_worker(self, worker: str, order: Order | None) -> bool:
        return await (await self._engine()).order_worker(worker, order)

    async def progress(self, job_id: str, token: str, progress: str) -> bool:
        return await (await self._engine()).progress(job_id, token, progress)

    async def save_step(self, job_id: str, token: str, name: str, value: str) -> bool:
        return await (await self._engine()).save_step(job_id, token, name, value)

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        await (await self._engine()).wait(queues, timeout)

    async def outlook(self) -> Outlook:
        return await (await self._engine()).outlook()

    async def stage(self, limit: int) -> float | None:
        return await (await self._engine()).stage(limit)

    async def due_schedules(self, limit: int) -> DueSchedules:
        return await (await self._engine()).due_schedules(limit)

    async def purge(self, older_than: float, limit: int) -> int:
        return await (await self._engine()).purge(older_than, limit)

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        return await (await self._engine()).remove_dead_letters(ids)

    async def forget_effects(self, limit: int) -> int:
        return await (await self._engine()).forget_effects(limit)

    async def tidy(self, unshelved: Sequence[str] = ()) -> None:
        await (await self._engine()).tidy(unshelved)
        if unshelved:
            await self._books.unshelve(unshelved)
        await self._notes.drop()

    async def set_paused(self, queue: str, paused: bool) -> None:
        await (await self._engine()).set_paused(queue, paused)

    async def put_groups(self, groups: Sequence[Group]) -> None:
        await (await self._engine()).put_groups(groups)

    async def put_breakers(self, breakers: Sequence[Breaker]) -> None:
        await (await self._engine()).put_breakers(breakers)

    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        await (await self._engine()).put_schedules(schedules)

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        return await (await self._engine()).pause_schedule(schedule_id, paused, next_at)

    async def enter_breaker(self, name: str, permit: str) -> Entry:
        return await (await self._engine()).enter_breaker(name, permit)

    async def report_breaker(self, name: str, permit: str, healthy: bool | None) -> None:
        await (await self._engine()).report_breaker(name, permit, healthy)

    async def set_breaker(self, name: str, circuit: Circuit) -> bool:
        return await (await self._engine()).set_breaker(name, circuit)

    async def survey(self, reach: float) -> Survey:
        return await (await self._engine()).survey(reach)

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        return await (await self._engine()).jobs(where, limit, after)

    async def steps(self, job_id: str) -> dict[str, str]:
        return await (await self._engine()).steps(job_id)

    async def flow(self, flow_id: str) -> Flow | None:
        return await (await self._engine()).flow(flow_id)

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        return await (await self._engine()).flows(limit, after)

    async def groups(self) -> list[GroupState]:
        return await (await self._engine()).groups()

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        return await (await self._engine()).lanes(group, limit, after)

    async def limits_of(self, lane: str) -> list[LimitState]:
        return await (await self._engine()).limits_of(lane)

    async def breakers(self) -> list[BreakerState]:
        return await (await self._engine()).breakers()

    async def schedules(self) -> list[ScheduleRow]:
        return await (await self._engine()).schedules()

    async def ticks(self, schedule_id: str, limit: int) -> list[TickRecord]:
        return await (await self._engine()).ticks(schedule_id, limit)

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        return await (await self._engine()).dead_letters(where, limit, after)

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        return await (await self._engine()).dead_letter(job_id)

    async def effects(
        self, where: EffectFilter, limit: int, after: EffectName | None = None
    ) -> list[EffectRecord]:
        return await (await self._engine()).effects(where, limit, after)

    async def queues(self) -> list[QueueState]:
        return await (await self._engine()).queues()

    async def dead_count(self) -> int:
        return await (await self._engine()).dead_count()

    async def workers(self) -> list[WorkerInfo]:
        return await (await self._engine()).workers()

    async def parked(self) -> list[Parked]:
        return await (await self._engine()).parked()

    async def standing(self, job_id: str, most: int) -> Standing | None:
        return await (await self._engine()).standing(job_id, most)

    async def unfinished_of(self, owner: str, most: int) -> int:
        return await self._books.unfinished_of(owner, most)

    # -- notes: those that must outlive Redis are in the ledger, and do not need it --------------------
    async def _noting(self, kind: str) -> Noting:
        return self._notes if kind in LASTING else await self._engine()

    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        return await (await self._noting(kind)).put_note(kind, key, body, ttl=ttl, expect=expect)

    async def note(self, kind: str, key: str) -> Note | None:
        return await (await self._noting(kind)).note(kind, key)

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        return await (await self._noting(kind)).notes(kind, limit, after, newest=newest)

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        return await (await self._noting(kind)).remove_notes(kind, keys)

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        return await (await self._noting(kind)).forget_notes(kind, older_than, limit)

    # -- the feed and samples are of the engine alone: the ledger is about jobs -------------------------
    async def publish(self, events: Sequence[JobEvent]) -> None:
        await (await self._engine()).publish(events)

    async def feed(self, after: int | None, limit: int) -> FeedPage:
        return await (await self._engine()).feed(after, limit)

    async def count(self, samples: Sequence[Sample]) -> None:
        await (await self._engine()).count(samples)

    async def series(self, since: datetime, until: datetime, queue: str | None = None) -> list[Minute]:
        return await (await self._engine()).series(since, until, queue)

    async def quarters(self, since: datetime, until: datetime, queue: str | None = None) -> list[Quarter]:
        return await (await self._engine()).quarters(since, until, queue)

    async def totals(self) -> list[Sample]:
        return await (await self._engine()).totals()
