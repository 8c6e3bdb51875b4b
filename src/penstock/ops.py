"""Everything a person may ask or do. The CLI and the web only parse, call and render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock import overview
from penstock.alerts.desk import AlertDesk
from penstock.audit import Actor, Audit
from penstock.bulk import Bulk
from penstock.dead_causes import DeadCauses
from penstock.dead_letters import RECOVER_RATE, DeadLetters
from penstock.engine import (
    EffectFilter,
    EffectName,
    EffectRecord,
    Engine,
    GroupState,
    HistoryFilter,
    JobFilter,
    LaneState,
    Parked,
    QueueState,
    Reconciled,
    WorkerInfo,
)
from penstock.feed.events import cancelled
from penstock.feed.publisher import tell_at_once
from penstock.flows import Flows
from penstock.health import HealthCheck
from penstock.matching import Matching
from penstock.model import joblines
from penstock.model.breaker import BreakerState, Circuit
from penstock.model.errors import (
    ActionRefused,
    Duration,
    EngineUnavailable,
    JobNotFound,
    UnknownQueue,
    in_seconds,
)
from penstock.model.ids import is_id
from penstock.model.job import Job
from penstock.model.joblines import key_of
from penstock.model.record import Record
from penstock.model.redaction import redacted
from penstock.model.states import State
from penstock.model.values import readable
from penstock.ops_answers import Cancelled, Diagnosis, QueueRow, Recovered, Retried, Story
from penstock.overview import Overview
from penstock.paging import MAX_PAGE
from penstock.paging import cursor as _cursor
from penstock.paging import page as _page
from penstock.remarks import Remarks
from penstock.searching import Fit, Found, Searching
from penstock.sessions import Sessions
from penstock.tasks.registry import Registry
from penstock.telemetry.metrics import Metrics
from penstock.timetable import Timetable
from penstock.tokens import Tokens
from penstock.veil import Veil
from penstock.why import Explanation, explain, explain_away, explain_record, gather
from penstock.workforce import Workforce

__all__ = [
    "MAX_PAGE",
    "RECOVER_RATE",
    "Cancelled",
    "Diagnosis",
    "Ops",
    "QueueRow",
    "Recovered",
    "Retried",
    "Story",
]

LOGS_SHOWN = 50  # attempts
RECONCILE_STEP = 500  # jobs at once


class Ops(DeadLetters):
    """One object under every surface. Reads are bounded; what changes something says what it did."""

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        *,
        actor: Actor | None = None,
        health: HealthCheck | None = None,
        metrics: Metrics | None = None,
        reveal: bool = False,
    ) -> None:
        """`actor` is who does what is done here, for the audit log; by default the user of this process.

        Arguments that are declared secret are masked in all that is answered, unless `reveal` is given.
        """
        self._engine = engine
        self._registry = registry
        self.audit = Audit(engine, actor or Actor.here("python"))
        self.tokens = Tokens(engine, self.audit)
        self.sessions = Sessions(engine, self.tokens, self.audit)
        self.bulk = Bulk(engine, self.audit)
        self._veil = Veil(registry, lifted=reveal)
        self.timetable = Timetable(engine, registry, self.audit, self._veil)
        self.workforce = Workforce(engine, self.audit)
        self.flows = Flows(engine, self.audit, self._veil)
        self._searching = Searching(engine, registry)
        self.matching = Matching(engine, self.audit, self._searching, self._veil)
        self.causes = DeadCauses(engine)
        self.remarks = Remarks(engine, self.audit)
        self.health = health or HealthCheck(engine)
        self.metrics = metrics or Metrics(engine, registry.queues)
        self.alerts = AlertDesk(engine)

    # -- limits -------------------------------------------------------------------------------------
    async def groups(self) -> list[GroupState]:
        """What limits queues and tasks, and how much of it is used."""
        return await self._engine.groups()

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        """The keys under one limit that hold jobs, by name."""
        return await self._engine.lanes(group, _page(limit), after)

    async def breakers(self) -> list[BreakerState]:
        """Every breaker, as it stands."""
        return await self._engine.breakers()

    async def set_breaker(self, name: str, circuit: Circuit) -> None:
        """Close or open a breaker by hand; ActionRefused where there is none of that name."""
        known = {found.breaker.name: found.circuit for found in await self._engine.breakers()}
        if name not in known:
            raise ActionRefused(
                f"there is no breaker {name!r}; known are: {', '.join(known) or 'none'}. "
                "A worker tells of its own as it starts"
            )
        async with self.audit.action("breaker set", name) as change:
            change.before, change.after = {"state": known[name]}, {"state": circuit}
            await self._engine.set_breaker(name, circuit)

    # -- jobs ---------------------------------------------------------------------------------------
    async def job(self, job_id: str) -> Job:
        """One job; JobNotFound where there is no record of it."""
        found = await self._engine.get(job_id) if is_id(job_id) else None
        if found is None:
            raise JobNotFound(await self._why_no_job(job_id))
        return self._veil.over(found)

    async def story(self, job_id: str) -> Story:
        """One job, and its dead letter where it has one; JobNotFound where there is no record of it."""
        job = await self.job(job_id)
        failed = job.state is State.FAILED
        letter = await self._engine.dead_letter(job_id) if failed else None
        shown = None if letter is None else self._veil.over(letter)
        return Story(job, shown, await self._engine.steps(job_id))

    async def logged(self, job: Job) -> dict[int, list[dict[str, Any]]]:
        """What the attempts of a job have logged by `ctx.log`, as far as it is kept, by attempt."""
        found = {error.get("attempt", 0): list(error["log"]) for error in job.errors if error.get("log")}
        prefix = key_of(job.id, "")
        for note in await self._engine.notes(joblines.KIND, LOGS_SHOWN, prefix):
            if note.key.startswith(prefix):
                found[int(note.key.removeprefix(prefix))] = readable(note.body)
        return dict(sorted(found.items()))

    async def _why_no_job(self, job_id: str) -> str:
        if is_id(job_id) and await self._engine.dead_letter(job_id) is not None:
            return f"job {job_id!r} has been pruned, but its dead letter is kept: penstock dlq show {job_id}"
        return f"there is no record of job {job_id!r}: it never was, or it has been pruned"

    async def told(self, job_id: str) -> Story | Record:
        """All there is of a job: its story, or, where it has been pruned, what the history has of it."""
        try:
            return await self.story(job_id)
        except JobNotFound:
            record = await self._engine.history(job_id)
            if record is None:
                raise
            return self._veil.record(record)

    async def known(self, job_id: str) -> Job | Record:
        """A job, or what the history has of it where it has been pruned; JobNotFound where nothing is."""
        found: Job | Record | None = None
        if is_id(job_id):
            found = await self._engine.get(job_id) or await self._engine.history(job_id)
        if found is None:
            raise JobNotFound(f"there is no record of job {job_id!r}")
        return self._veil.over(found) if isinstance(found, Job) else self._veil.record(found)

    async def looked_up_in_vain(self, job_id: str) -> None:
        """Take as long as `known` does over a job of which there is no record."""
        await self._engine.history(job_id)

    async def record(self, job_id: str) -> Record:
        """What is told of a job to the outside, pruned or not; JobNotFound where there is no record of it."""
        found = await self.known(job_id)
        return Record.of(found) if isinstance(found, Job) else found

    async def why(self, job_id: str) -> Explanation:
        """Why a job does not run, or how it ended: every cause, the decisive one first."""
        try:
            job = await self.job(job_id)
        except JobNotFound:
            record = await self._engine.history(job_id)
            if record is None:
                raise
            return explain_record(record, (await self._engine.due_schedules(0)).now)
        try:
            return explain(await gather(self._engine, self._registry, job))
        except EngineUnavailable as error:  # a ledger beside it has told of the job
            return explain_away(job, str(error), datetime.now(UTC))

    async def history(self, where: HistoryFilter, limit: int = 50, after: str | None = None) -> list[Record]:
        """One page of the jobs that have ended, pruned or not, newest first."""
        found = await self._engine.histories(where, _page(limit), _cursor(after))
        return [self._veil.record(each) for each in found]

    async def jobs(self, where: JobFilter, limit: int = 50, after: str | None = None) -> list[Job]:
        """One page of jobs, newest first; `after` is the last id of the page before."""
        return self._veil.over_all(await self._engine.jobs(where, _page(limit), _cursor(after)))

    async def search(self, where: JobFilter, fit: Fit, limit: int = 50, after: str | None = None) -> Found:
        """Jobs by a tag, or of one task by its searchable arguments, newest first; `after` is the page
        before's `next`.
        """
        found = await self._searching.page(where, fit, _page(limit), _cursor(after))
        return found._replace(jobs=self._veil.over_all(found.jobs))

    async def retry(self, job_id: str) -> Retried:
        """Run a job again without waiting: a delayed one is made due, a failed one is recovered."""
        job = await self.job(job_id)
        async with self.audit.action("job retry", job_id) as change:
            change.before = {"state": job.state}
            done = await self._retry(job)
            change.after = done._asdict()
        return done

    async def _retry(self, job: Job) -> Retried:
        if job.state is State.DELAYED:
            if await self._engine.promote([job.id]):
                return Retried(job.id, "due now")
            job = await self.job(job.id)  # it fell due or ended meanwhile
        if job.state is State.FAILED:
            new, already = await self._recover(job.id, None)
            return Retried(new, "recovered already" if already else "recovered")
        only = "; only failed and delayed jobs can be retried" if job.state.finished else ""
        raise ActionRefused(_why_not(job) + only)

    async def promote(self, job_id: str) -> Job:
        """Make a delayed job due now."""
        job = await self.job(job_id)
        async with self.audit.action("job promote", job_id) as change:
            change.before = {"state": job.state, "due_at": job.due_at}
            if job.state is not State.DELAYED or not await self._engine.promote([job_id]):
                raise ActionRefused(f"only a delayed job can be made due; {_why_not(await self.job(job_id))}")
            job = await self.job(job_id)
            change.after = {"state": job.state, "due_at": job.due_at}
        return job

    async def reschedule(self, job_id: str, delay: Duration) -> Job:
        """Make a job that waits, or is delayed, due in so many seconds; its expiry moves with it."""
        job = await self.job(job_id)
        seconds = in_seconds("delay", delay)
        async with self.audit.action("job reschedule", job_id) as change:
            change.before = {"state": job.state, "due_at": job.due_at}
            done = await self._engine.reschedule([job_id], seconds)
            job = await self.job(job_id)
            if not done:
                raise ActionRefused(f"only a waiting or delayed job can be rescheduled; {_why_not(job)}")
            change.after = {"state": job.state, "due_at": job.due_at}
        return job

    async def cancel(self, job_id: str, reason: str = "cancelled by an operator") -> Cancelled:
        """Cancel a job that has not ended; one that is running is asked to stop."""
        before = await self.job(job_id)
        async with self.audit.action("job cancel", job_id, reason) as change:
            change.before = {"state": before.state}
            state = await self._cancel(before, reason)
            change.after = {"state": state}
        if state is State.CANCELLED:
            await tell_at_once(self._engine, [cancelled(before)])
        return Cancelled(job_id, state)

    async def _cancel(self, before: Job, reason: str) -> State:
        if before.state.finished:
            raise ActionRefused(f"job {before.id} has already ended as {before.state}")
        (state,) = await self._engine.cancel([before.id], redacted(reason))
        if state is None:
            raise JobNotFound(f"there is no record of job {before.id!r} any more")
        if state not in (State.ACTIVE, State.CANCELLED):
            raise ActionRefused(f"job {before.id} ended as {state} meanwhile")
        return state

    async def delete(self, job_id: str) -> None:
        """Remove the record of a job that has ended, also from the history. Its dead letter stays."""
        job = await self.job(job_id)
        async with self.audit.action("job delete", job_id) as change:
            change.before = {"task": job.task, "state": job.state}
            if not await self._engine.delete([job_id]):
                raise ActionRefused(f"only a job that has ended can be deleted; {_why_not(job)}")

    async def reconcile(self) -> Reconciled:
        """Compare all that has not ended with the ledger, and repair it; ActionRefused without one."""
        async with self.audit.action("reconcile", "ledger") as change:
            total = await self._reconcile()
            change.after = {
                "dispatched": total.dispatched, "restored": total.restored, "ended": total.ended
            }  # fmt: skip
        return total

    async def _reconcile(self) -> Reconciled:
        total, after = Reconciled(), None
        while True:
            done = await self._engine.reconcile(RECONCILE_STEP, after)
            if done is None:
                raise ActionRefused("there is no ledger: it goes with Redis, Penstock(ledger=…)")
            total = Reconciled(
                total.dispatched + done.dispatched, total.restored + done.restored, total.ended + done.ended
            )
            after = done.after
            if after is None:
                return total

    # -- effects -------------------------------------------------------------------------------------
    async def effects(
        self, where: EffectFilter, limit: int = 50, after: EffectName | None = None
    ) -> list[EffectRecord]:
        """One page of the effects that were recorded, by task, key and name."""
        return await self._engine.effects(where, _page(limit), after)

    # -- queues, workers, tasks ---------------------------------------------------------------------
    async def queues(self) -> list[QueueRow]:
        """Every queue that is declared or holds anything, by name."""
        known = {state.queue: state for state in await self._engine.queues()}
        parked: Counter[str] = Counter()
        for lane in await self._engine.parked():
            parked[lane.queue] += lane.jobs
        serving = Counter(
            queue for worker in await self._engine.workers() if worker.claims for queue in worker.queues
        )
        names = sorted({*known, *self._registry.queues})
        return [self._queue_row(name, known.get(name), parked[name], serving[name]) for name in names]

    def _queue_row(self, name: str, state: QueueState | None, parked: int, workers: int) -> QueueRow:
        declared = self._registry.queues.get(name)
        row = QueueRow(name, declared is not None, paused=False, counts={}, parked=parked, workers=workers)
        if state is not None:
            row = replace(row, paused=state.paused, counts=state.counts)
        if declared is None:
            return row
        return replace(
            row, concurrency=declared.concurrency, limit=declared.limit, rate_key=declared.rate_key
        )

    async def pause(self, queue: str) -> None:
        """Stop claims from a queue, for every worker; what runs goes on."""
        await self._set_paused(queue, paused=True)

    async def resume(self, queue: str) -> None:
        """Allow claims from a queue again."""
        await self._set_paused(queue, paused=False)

    async def _set_paused(self, queue: str, *, paused: bool) -> None:
        rows = {row.name: row for row in await self.queues()}
        if queue not in rows:
            raise UnknownQueue(f"there is no queue {queue!r}; there are: {', '.join(rows)}")
        async with self.audit.action("queue pause" if paused else "queue resume", queue) as change:
            change.before, change.after = {"paused": rows[queue].paused}, {"paused": paused}
            await self._engine.set_paused(queue, paused)

    async def overview(self) -> Overview:
        """Everything at one glance; an engine that is away is told, not raised."""
        return await overview.look(self._engine, self.health)

    async def running(self) -> Mapping[str, Sequence[Job]]:
        """What runs, by worker, the longest first; of all that do the latest overview.RUNNING_SEEN."""
        found = await overview.running(self._engine)
        return {worker: self._veil.over_all(jobs) for worker, jobs in found.items()}

    async def unfinished_of(self, owner: str, most: int) -> int:
        """How many jobs of an owner have not ended, counted up to `most`."""
        return await self._engine.unfinished_of(owner, most)

    async def workers(self) -> list[WorkerInfo]:
        """Every worker that is registered, alive or about to be rescued."""
        return await self._engine.workers()

    async def parked(self) -> list[Parked]:
        """Jobs set aside until a worker comes that can run them, by task and reason."""
        return await self._engine.parked()

    def tasks(self) -> Sequence[Mapping[str, Any]]:
        """The catalogue: every registered task with its options and payload schema."""
        return self._registry.catalogue()


def _why_not(job: Job) -> str:
    if job.parked:
        return f"job {job.id} is parked until a worker comes that can run it: {job.note}"
    if job.state is State.WAITING:
        return f"job {job.id} is waiting already, for a worker that serves queue {job.queue!r}"
    if job.state is State.BLOCKED:
        return f"job {job.id} waits for other jobs"
    if job.state is State.ACTIVE:
        return f"job {job.id} is running now"
    return f"job {job.id} ended as {job.state}"
