"""The PostgreSQL engine: each verb one step, in one round trip where the contract allows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.engine import (
    SERIES_KEPT,
    CancelOrder,
    Claimed,
    Expired,
    Finding,
    Judge,
    Order,
    Orders,
    Outlook,
    Recovery,
    Rescued,
    Retention,
    Rhythm,
    Settled,
    Settlement,
    Want,
    WorkerInfo,
)
from penstock.engines.postgres import durability, enqueue, examine, failures, migrate, pooler
from penstock.engines.postgres.breakers import Breakers
from penstock.engines.postgres.database import Call, Connection, query
from penstock.engines.postgres.inspect import Inspection
from penstock.engines.postgres.limits import Limits
from penstock.engines.postgres.listener import Listener
from penstock.engines.postgres.notes import Notes
from penstock.engines.postgres.rescue import Rescue
from penstock.engines.postgres.schedules import Schedules
from penstock.engines.postgres.settle import Step, other_call
from penstock.engines.postgres.surveying import Surveying
from penstock.engines.postgres.watched import Watched
from penstock.model.clock import Clock, EngineClock
from penstock.model.errors import WorkerExpired
from penstock.model.ids import is_id
from penstock.model.job import Enqueued, NewJob
from penstock.model.outcome import EXPIRED, NOT_RECEIVED, UPSTREAM_LATE, UPSTREAM_MISSING
from penstock.model.states import State

UNFOLDED = 5_000  # counts of single calls that may lie about: whoever counts jobs adds them up


class PostgresEngine(Inspection, Surveying, Schedules, Limits, Breakers, Notes, Watched):
    """Jobs in one schema of a PostgreSQL database. See `penstock.engine.Engine` for its promises."""

    rhythm = Rhythm()

    def __init__(
        self, url: str, *, schema: str = "penstock", clock: Clock | None = None, pool_size: int = 4
    ) -> None:
        super().__init__(url, schema, clock or EngineClock(), pool_size)
        self._listener = Listener(self._pool, f"penstock_{schema}")

    # -- life ---------------------------------------------------------------------------------------
    async def open(self) -> None:
        self._pool.open()
        try:
            await self._database.use(lambda connection: migrate.check(connection, self.schema))
            await self._database.use(durability.check)
        except BaseException:
            await self._pool.close()
            raise

    async def close(self) -> None:
        await self._listener.close()
        await self._pool.close()

    async def migrate(self) -> list[str]:
        connection = await self._pool.connect()
        with failures.typed_errors(connection):
            async with connection:
                return await migrate.migrate(connection, self.schema)

    async def examine(self) -> list[Finding]:
        connection = await self._pool.connect()
        with failures.typed_errors(connection):
            async with connection:
                found = await examine.examine(connection, self.schema)
                return [*found, await pooler.look_for(connection, self._pool.connect)]

    # -- in -----------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        if not jobs:
            return []
        try:
            if len(jobs) == 1 and not again and enqueue.is_bare(jobs[0]):
                return [await self._enqueue_bare(jobs[0])]
            return await self._enqueue(jobs, again=again)
        except failures.KnownId:
            return await self._enqueue(jobs, again=True)

    async def _enqueue(self, jobs: Sequence[NewJob], *, again: bool) -> Sequence[Enqueued]:
        now = self._clock.now()
        if not again and len(jobs) >= enqueue.COPY_FROM and all(map(enqueue.is_plain, jobs)):
            return await self._database.transact(lambda c: self._enqueue_by_copy(c, jobs), repeatable=False)
        plan = enqueue.plan(self.schema, jobs, again=again, now=now)
        (rows,) = await self._database.run(Call(plan.sql, plan.values), repeatable=False)
        return plan.decode(rows)

    async def _enqueue_bare(self, job: NewJob) -> Enqueued:
        now = self._clock.now()
        await self._database.tell(
            self._sql["enqueue_plain"],
            lambda: enqueue.bare_values(job, now),
            lambda: Call(*enqueue.plan(self.schema, [job], now=now)[:2]),
        )
        return Enqueued(job.id, State.WAITING, False)

    async def _enqueue_by_copy(self, connection: Connection, jobs: Sequence[NewJob]) -> Sequence[Enqueued]:
        ((now,),) = await query(connection, Call(self._sql["clock"], {"now": self._clock.now()}))
        keyed = [job for job in jobs if job.unique]
        if await self._take_keys(connection, keyed):
            keyed = []
        batch = enqueue.Batch([job for job in jobs if not job.unique] if keyed else jobs, now)
        await enqueue.copy(connection, self._sql["copy"], batch)
        await query(connection, Call(self._sql["count_new"], enqueue.count_values(batch.counts)))
        answers: list[Enqueued] = []
        if keyed:
            plan = enqueue.plan(self.schema, keyed, now=now)
            answers = plan.decode(await query(connection, Call(plan.sql, plan.values)))
        return enqueue.merge(jobs, batch, answers)

    async def _take_keys(self, connection: Connection, jobs: Sequence[NewJob]) -> bool:
        """Whether all were free; what was taken stays taken, and `enqueue` knows its own."""
        if not jobs:
            return True
        ((taken,),) = await query(connection, Call(self._sql["take_keys"], enqueue.key_values(jobs)))
        return bool(taken == len(jobs))

    # -- run ----------------------------------------------------------------------------------------
    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        await self._do(
            "register",
            worker=worker.id,
            name=worker.name,
            queues=list(worker.queues),
            slots=worker.slots,
            ttl=ttl,
        )

    async def beat(self, worker: str, ttl: float, memory: int | None = None) -> Orders:
        found = await self._do("beat", worker=worker, ttl=ttl, memory=memory)
        ((alive, cancels, paused, watched, ordered),) = found
        if not alive:
            return Orders(given_up=True)
        stops = tuple(CancelOrder(*pair.split()) for pair in cancels)
        return Orders(False, stops, frozenset(paused), watched, ordered and Order(ordered))

    async def claim(self, want: Want) -> Claimed:
        step = Step([], want)
        return await self._claim(want, step, step.calls(self._sql, self._clock.now()))

    async def claim_next(self, want: Want, timeout: float) -> Claimed:
        if self._clock.now() is not None:  # a time that is told would be old by then
            await self.wait(list(want.queues), timeout)
            return await self.claim(want)
        step = Step([], want)
        calls = [call.written() for call in step.calls(self._sql, None)]
        await self.wait(list(want.queues), timeout)
        return await self._claim(want, step, calls)

    async def _claim(self, want: Want, step: Step, calls: Sequence[Call]) -> Claimed:
        self._listener.look(want.queues)
        settled = step.read(await self._database.run(*calls, repeatable=False))
        if settled.expired:
            raise WorkerExpired(f"worker {want.worker} is not alive any more; begin again under a new id")
        return Claimed(settled.claims, settled.next_in)

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        step = Step(ends, want)
        self._listener.look(want.queues if want is not None else ())
        if any(end.then for end in ends):
            settled = await self._database.transact(lambda c: self._follow(c, ends, want), repeatable=False)
        else:
            calls = step.calls(self._sql, self._clock.now())
            settled = step.read(await self._database.run(*calls, repeatable=False) if calls else [])
        if again and (missing := step.missing(settled)):
            ids, tokens = [end.id for end in missing], [end.token for end in missing]
            settled = step.recognise(settled, await self._do("ended_by", ids=ids, tokens=tokens))
        return settled

    async def _follow(self, connection: Connection, ends: Sequence[Settlement], want: Want | None) -> Settled:
        """Settle, put in what follows from the runs that completed, and claim."""
        # The worker's row is taken first of all, as always.
        step = Step(ends, want and want._replace(queues={}, limit=0))
        settled = await self._step(connection, step)
        if followers := step.followers(settled):
            # `again`: a run that was rescued may have come as far before, and its ids be known.
            plan = enqueue.plan(self.schema, followers, again=True, now=self._clock.now())
            await query(connection, Call(plan.sql, plan.values))
        if want is None or settled.expired:
            return settled
        return (await self._step(connection, Step([], want)))._replace(accepted=settled.accepted)

    async def _step(self, connection: Connection, step: Step) -> Settled:
        calls = step.calls(self._sql, self._clock.now())
        return step.read([await query(connection, call) for call in calls])

    async def save_step(self, job_id: str, token: str, name: str, value: str) -> bool:
        if not (is_id(job_id) and is_id(token)):
            return False
        return bool(await self._do("save_step", id=job_id, token=token, name=name, value=value))

    async def progress(self, job_id: str, token: str, progress: str) -> bool:
        if not (is_id(job_id) and is_id(token)):
            return False
        return bool(await self._do("progress", id=job_id, token=token, progress=progress))

    async def release(self, worker: str, request: str) -> int:
        async def work(connection: Connection) -> int:
            await query(connection, Call(self._sql["void_request"], names))
            found = await query(connection, Call(self._sql["claimed_by_request"], names))
            ends = [Settlement(job_id, token, NOT_RECEIVED) for job_id, token in found]
            if ends:
                now = self._clock.now()
                await query(connection, other_call(self._sql, ends, now, by_holder=False))
            return len(ends)

        names = {"worker": worker, "request": request}
        return await self._database.transact(work, repeatable=True)

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        await self._listener.wait(queues, timeout)

    # -- upkeep -------------------------------------------------------------------------------------
    async def outlook(self) -> Outlook:
        ((due_in, tick_in, lost, untidy),) = await self._do("outlook", unfolded=UNFOLDED)
        return Outlook(_not_past(due_in), _not_past(tick_in), lost, untidy)

    async def stage(self, limit: int) -> float | None:
        ((more, seconds, _),) = await self._do("stage", limit=limit)
        return 0.0 if more else seconds

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        now = self._clock.now()
        return await self._database.transact(
            lambda connection: Rescue(connection, self._sql, judge, now).expired(limit), repeatable=True
        )

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        now = self._clock.now()
        return await self._database.transact(
            lambda connection: Rescue(connection, self._sql, judge, now).one(worker, started), repeatable=True
        )

    async def expire(self, limit: int) -> list[Expired]:
        notes = {"upstream_late": UPSTREAM_LATE, "upstream_missing": UPSTREAM_MISSING}
        rows = await self._do("expire", limit=limit, expired=EXPIRED, **notes)
        return [
            Expired(job_id, queue, task, owner, State(state), missed)
            for job_id, queue, task, owner, state, missed in rows
        ]

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        return await self._count(
            "prune",
            queue=retention.queue,
            keep_completed=retention.keep_completed,
            keep_failed=retention.keep_failed,
            max_age=retention.max_age,
            limit=limit,
            run=run,
            remember=retention.remember,
        )

    async def purge(self, older_than: float, limit: int) -> int:
        return await self._count("purge", older_than=older_than, limit=limit)

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        return await self._count("forget", keep=keep, older_than=float(older_than), limit=limit)

    async def forget_effects(self, limit: int) -> int:
        return await self._count("forget_effects", limit=limit)

    async def reconcile(self, limit: int, after: str | None = None) -> None:
        """There is no ledger beside it."""

    async def tidy(self, unshelved: Sequence[str] = ()) -> None:
        async def drop_lanes(connection: Connection) -> None:
            lanes = [lane for (lane,) in await query(connection, Call(self._sql["empty_lanes"], {}))]
            if lanes:
                await query(connection, Call(self._sql["drop_lanes"], {"lanes": lanes}))

        # These pass by what others hold, so that they may be one transaction; the others may have to wait.
        values = {"now": self._clock.now(), "unshelved": list(unshelved), "kept": SERIES_KEPT}
        never_waiting = ("fold_counts", "unshelve", "drop_notes", "drop_minutes")
        await self._database.run(*(Call(self._sql[name], values) for name in never_waiting), repeatable=True)
        await self._do("drop_flows")
        await self._do("drop_keys")
        await self._tidy_limits()
        await self._database.transact(drop_lanes, repeatable=True)

    # -- operate ------------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        values = {"ids": _known(ids), "reason": reason, "now": self._clock.now()}
        calls = Call(self._sql["cancel"], values), Call(self._sql["states"], values)
        _, rows = await self._database.run(*calls, repeatable=True)
        states = {job_id: State(state) for job_id, state in rows}
        return [states.get(job_id) for job_id in ids]

    async def promote(self, ids: Sequence[str]) -> int:
        return await self._count("promote", ids=_known(ids))

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        return await self._count("reschedule", ids=_known(ids), delay=float(delay))

    async def delete(self, ids: Sequence[str]) -> int:
        return await self._count("delete", ids=_known(ids), remember=False)

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        wanted = [recovery for recovery in recoveries if is_id(recovery.dead_id)]
        values = {
            "now": self._clock.now(),
            "dead_ids": [recovery.dead_id for recovery in wanted],
            "new_ids": [recovery.new_id for recovery in wanted],
            "args": [recovery.args for recovery in wanted],
            "delays": [float(recovery.delay) for recovery in wanted],
        }
        verbs = ("hold_upstream", "recover", "recovered_as")
        *_, rows = await self._database.run(*(Call(self._sql[v], values) for v in verbs), repeatable=True)
        recovered: dict[str, str | None] = dict(rows)
        return [recovered.get(recovery.dead_id) for recovery in recoveries]

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        return await self._count("remove_dead_letters", ids=_known(ids))

    async def set_paused(self, queue: str, paused: bool) -> None:
        await self._do("set_paused", queue=queue, paused=paused)

    async def order_worker(self, worker: str, order: Order | None) -> bool:
        return bool(await self._do("order_worker", worker=worker, order=order and order.value))


def _not_past(seconds: float | None) -> float | None:
    return None if seconds is None else max(0.0, seconds)


def _known(ids: Iterable[str]) -> list[str]:
    """Without what cannot be the id of a job."""
    return [job_id for job_id in ids if is_id(job_id)]
