"""Jobs on their way in: their rows first, then the engine, now or later."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from penstock.crash_points import passing
from penstock.engine import Tick, TickRecord
from penstock.ledger.base import Base
from penstock.ledger.books import ENDS_WITH_JOB, Holder, KeyName, PutIn
from penstock.ledger.reconcile import Reconciler, put_into, resolve
from penstock.model.errors import EngineError
from penstock.model.job import Enqueued, NewJob
from penstock.model.states import State, Status

log = logging.getLogger("penstock.ledger")


class Putting(Base):
    """Accepted is what has a row."""

    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:  # noqa: ARG002
        """Every call finds what an earlier one with the same ids has made: `again` makes no difference."""
        if not jobs:
            return []
        put = await self._books.put(jobs)
        passing("ledger-put")
        mine = [job for job in jobs if job.id in put.lines and not put.lines[job.id].ended]
        mine = await self._led_to_holders(mine, jobs, put)
        told = {answer.id: answer for answer in await self._dispatch(mine)}
        ended = await self._books.lines([job_id for job_id in put.lines if job_id not in told])
        told |= {
            line.id: Enqueued(line.id, _state_of(line.status), duplicate=False) for line in ended.values()
        }
        return [told.get(job.id) or await self._duplicate(job, put) for job in jobs]

    async def _led_to_holders(self, mine: list[NewJob], jobs: Sequence[NewJob], put: PutIn) -> list[NewJob]:
        """An edge to one of the same call whose key was taken leads to the holder."""
        taken = [job for job in jobs if job.id not in put.lines and _key_of(job) in put.holders]
        holders = {job.id: put.holders[_key_of(job)].id for job in taken}
        led = [job for job in mine if job.ties and any(edge.id in holders for edge in job.ties.after)]
        if not led:
            return mine
        moved = [_moved(job, holders) for job in led]
        await self._books.retie(moved)
        left = {job.id: job for job in await resolve(self._books, moved)}
        return [left.get(job.id, job) for job in mine if job.id in left or job not in led]

    async def _dispatch(self, jobs: Sequence[NewJob]) -> Sequence[Enqueued]:
        """Put jobs that have rows into the engine; where it is away, that is done later."""
        if not jobs:
            return []
        try:
            answers = await put_into(await self._engine(), jobs)
        except EngineError as error:
            log.warning("%d jobs were accepted, and are dispatched later: %s", len(jobs), error)
            return [Enqueued(job.id, _awaited(job), duplicate=False) for job in jobs]
        passing("ledger-dispatched")
        await self._mark([job.id for job in jobs])
        await self._end_of(answer.id for answer in answers if answer.state.finished)
        return answers

    async def _mark(self, ids: Iterable[str]) -> None:
        """That it could not be marked does not undo what was accepted: the reconciler marks it."""
        try:
            await self._books.mark(ids)
        except EngineError as error:
            self._in_doubt = True
            log.warning("jobs were dispatched and could not be marked; the reconciler will: %s", error)
        passing("ledger-marked")

    async def _duplicate(self, job: NewJob, put: PutIn) -> Enqueued:
        holder = put.holders.get(_key_of(job))
        if holder is None or await self._let_go(holder):
            return (await self.enqueue([job]))[0]
        if holder.kind == "debounce":
            await self._put_off(holder.id)
        found = await self.get(holder.id)
        return Enqueued(holder.id, found.state if found else _state_of(holder.status), duplicate=True)

    async def _let_go(self, holder: Holder) -> bool:
        """Whether the holder has ended in the engine, unknown to its row, and holds the key no more."""
        if holder.ended or holder.kind not in ENDS_WITH_JOB:
            return False
        found = await self.get(holder.id)
        if found is None or not found.state.finished:
            return False
        await self._books.end([found])
        return True

    async def _put_off(self, holder: str) -> None:
        """Its row has what the newcomer brought; where the engine is away, it is told later."""
        try:
            engine = await self._engine()
            lines = [line for line in (await self._books.lines([holder])).values() if line.debounced]
            if await Reconciler(self._books, engine).dispatch(lines):
                await self._move([holder])
        except EngineError as error:
            log.warning("job %s was put off, Redis is told later: %s", holder, error)

    async def fire(self, tick: Tick) -> TickRecord | None:
        """In the engine first, together with its tick: a row that came to nothing would be run."""
        fired = await (await self._engine()).fire(tick)
        if fired is not None and tick.job is not None and fired.job_id == tick.job.id:
            put = await self._books.put([tick.job])
            if tick.job.id not in put.lines:
                await self._adopt([tick.job.id])
            await self._mark([tick.job.id])
        if fired is not None:
            await self._settings.next_tick(tick.schedule, tick.next_at)
        return fired


def _key_of(job: NewJob) -> KeyName:
    return job.queue, job.task, job.key


def _moved(job: NewJob, holders: Mapping[str, str]) -> NewJob:
    assert job.ties is not None
    edges = tuple(edge._replace(id=holders.get(edge.id, edge.id)) for edge in job.ties.after)
    return job._replace(ties=job.ties._replace(after=edges))


def _state_of(status: str) -> State:
    """Of a row that is known to have ended; of one about which nothing is known any more, that it waits."""
    return State.WAITING if status in (Status.PENDING, Status.PROCESSING) else State(status)


def _awaited(job: NewJob) -> State:
    """The state that the engine would tell."""
    if job.ties is not None and job.ties.after:
        return State.BLOCKED
    quiet = job.window.seconds if job.unique and job.window.kind == "debounce" else 0.0
    return State.DELAYED if job.delay + quiet > 0 else State.WAITING
