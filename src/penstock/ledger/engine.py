"""An engine with a ledger beside it: see the package's text for what is written when."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from penstock.crash_points import passing
from penstock.engine import (
    Claimed,
    Expired,
    Finding,
    HistoryFilter,
    Judge,
    Level,
    Reconciled,
    Recovery,
    Rescued,
    Retention,
    Settled,
    Settlement,
    Tick,
    TickRecord,
    Want,
)
from penstock.ledger.books import ENDS_WITH_JOB, Books, Holder, KeyName, PutIn, Saved
from penstock.ledger.database import Database
from penstock.ledger.delegate import Fenced
from penstock.ledger.kept import Kept
from penstock.ledger.lost_ends import LostEnds
from penstock.ledger.notes import LedgerNotes
from penstock.ledger.reconcile import Reconciler, put_into, resolve
from penstock.ledger.rows import Line, heir_of, letter_of, outcome_of, record_of, seen
from penstock.ledger.settings import Settings
from penstock.model.clock import Clock
from penstock.model.errors import EngineError, EngineUnavailable, OutcomeUnknown, SchemaMissing
from penstock.model.ids import is_id
from penstock.model.job import Claim, DeadLetter, Enqueued, Job, NewJob
from penstock.model.outcome import Released
from penstock.model.record import Record
from penstock.model.states import State, Status

log = logging.getLogger("penstock.ledger")

_STALE = Released("the ledger did not let it begin")


class LedgeredEngine(Kept):
    """The contract of `penstock.engine.Engine`, where the ledger is the authority."""

    def __init__(self, engine: Fenced, database: Database, clock: Clock) -> None:
        self._inner = engine
        self._books = Books(database)
        self._settings = Settings(database)
        self._notes = LedgerNotes(database)
        self._clock = clock
        self._is_open = False  # the engine, as far as it was there
        self._in_doubt = False  # the ledger was away: look before something is claimed
        self._claims_for: set[str] = set()  # workers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r}, {self._books.database!r})"

    # -- life ------------------------------------------------------------------------------------------
    async def open(self) -> None:
        """Without the engine, jobs can still be accepted; without the ledger nothing can be done."""
        await self._books.database.open()
        try:
            await self._engine()
        except EngineUnavailable as error:
            log.warning("Redis is away; jobs are accepted and dispatched later: %s", error)
        except BaseException:
            await self._books.database.close()
            raise

    async def close(self) -> None:
        try:
            await self._inner.close()
        finally:
            self._is_open = False
            await self._books.database.close()

    async def migrate(self) -> list[str]:
        return [*await self._books.database.migrate(), *await self._inner.migrate()]

    async def examine(self) -> list[Finding]:
        theirs = await self._books.database.examine()
        ledger = [Finding(f"ledger-{name}", level, f"ledger: {text}") for name, level, text in theirs]
        return [*map(_with_ledger, await self._inner.examine()), *ledger]

    async def _engine(self) -> Fenced:
        if not self._is_open:
            try:
                await self._inner.open()
            except SchemaMissing:  # keys were lost with all the others
                await self._inner.migrate()
                await self._inner.open()
            self._is_open = True
        return self._inner

    # -- in --------------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:  # noqa: ARG002
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

    async def _dispatch(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
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

    # -- run -------------------------------------------------------------------------------------------
    async def claim(self, want: Want) -> Claimed:
        if self._in_doubt:
            await self._books.counts()
            self._in_doubt = False
        self._claims_for.add(want.worker)
        claimed = await (await self._engine()).claim(want)
        return claimed._replace(claims=await self._begin(want, claimed.claims, claimed.fence))

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        if not ends:
            settled = await (await self._engine()).settle(ends, want, again=again)
        else:
            settled = await self._save_and_settle(ends, want, again=again)
        if want is None or not settled.claims:
            return settled
        return settled._replace(claims=await self._begin_or_hand_back(want, settled))

    async def _save_and_settle(
        self, ends: Sequence[Settlement], want: Want | None, *, again: bool
    ) -> Settled:
        await self._free_keys_of(job for end in ends for job in end.then if job.unique)
        passing("ledger-saving")
        lines, saved, put = await self._saved(ends)
        passing("ledger-saved")
        mine = [end.id not in lines or lines[end.id].token == end.token for end in ends]
        passed_on = [
            end._replace(then=tuple(job for job in end.then if job.id in put.lines))
            for end, ours in zip(ends, mine, strict=True)
            if ours
        ]
        settled = await (await self._engine()).settle(passed_on, want, again=again)
        passing("ledger-settled")
        if put.lines:
            await self._dispatch([job for end in passed_on for job in end.then])
        for end in ends:
            if end.then and _is_its_end(lines.get(end.id), end):
                await self._follow_holders(end.then, put)
        told = iter(settled.accepted)
        true = {(end.id, end.token) for end in ends if end.id in saved or again}
        true &= {(line.id, line.token) for line in lines.values() if line.ended}
        accepted = [ours and _accepted(next(told), true, end) for end, ours in zip(ends, mine, strict=True)]
        return settled._replace(accepted=accepted)

    async def _free_keys_of(self, followers: Iterable[NewJob]) -> None:
        """Beforehand: those that follow have their rows together with the end, or are lost with a crash."""
        if keyed := list(followers):
            for holder in (await self._books.holders(keyed)).values():
                await self._let_go(holder)

    async def _follow_holders(self, followers: Sequence[NewJob], put: PutIn) -> None:
        """Those whose keys were held are dealt with as by `enqueue`."""
        for job in followers:
            if job.id not in put.lines:
                await self._duplicate(job, put)

    async def _saved(self, ends: Sequence[Settlement]) -> Saved:
        known = [end for end in ends if is_id(end.id)]
        if not known:
            return Saved({}, frozenset(), PutIn({}, {}))
        try:
            return await self._books.save(known)
        except OutcomeUnknown as error:  # it may be saved again
            raise EngineUnavailable(str(error)) from error

    async def _begin_or_hand_back(self, want: Want, settled: Settled) -> list[Claim]:
        """What was settled is: only the claims cannot be had."""
        try:
            return await self._begin(want, settled.claims, settled.fence)
        except EngineUnavailable as error:
            log.warning("nothing is claimed without the ledger: %s", error)
            return []

    async def _begin(self, want: Want, claims: list[Claim], fence: int) -> list[Claim]:
        """Write that these begin; those that may."""
        if not claims:
            return []
        passing("ledger-claimed")
        try:
            lines = await self._started(want, fence, claims)
        except EngineError as error:
            self._in_doubt = True
            await self._hand_back(want)
            raise EngineUnavailable(
                f"the ledger could not be written, nothing was claimed: {error}"
            ) from error
        passing("ledger-started")
        may = [lines.get(claim.id) and lines[claim.id].token == claim.token for claim in claims]
        if not all(may):
            late = [claim for claim, begins in zip(claims, may, strict=True) if not begins]
            await self._settle_from(lines, late)
        return [
            _as_debounced(claim, lines[claim.id]) for claim, begins in zip(claims, may, strict=True) if begins
        ]

    async def _started(self, want: Want, fence: int, claims: list[Claim]) -> dict[str, Line]:
        lines = await self._books.start(want, fence, claims)
        if unknown := [claim for claim in claims if claim.id not in lines]:
            await self._adopt([claim.id for claim in unknown])
            lines |= await self._books.start(want, fence, unknown)
        return lines

    async def _hand_back(self, want: Want) -> None:
        try:
            await (await self._engine()).release(want.worker, want.request)
        except EngineError as error:
            raise OutcomeUnknown(f"claims could not be written, nor handed back: {error}") from error

    async def _settle_from(self, lines: Mapping[str, Line], claims: Sequence[Claim]) -> None:
        """What has ended by its row is not run again; what another has begun, or may not, is handed back."""
        engine = await self._engine()
        paused = {queue for queue, paused in (await self._settings.pauses()).items() if paused}
        for queue in paused & {claim.queue for claim in claims}:
            await engine.set_paused(queue, True)  # which it did not know
        ends = []
        for claim in claims:
            line = lines.get(claim.id)
            ended = line is not None and line.ended
            ends.append(Settlement(claim.id, claim.token, outcome_of(line) if line and ended else _STALE))
            log.warning(
                "reconciled: job %s (%s) was given out %s",
                claim.id,
                claim.task,
                _why_not(line, paused),
            )
        await engine.settle(ends)

    async def release(self, worker: str, request: str) -> int:
        released = await (await self._engine()).release(worker, request)
        await self._books.release(worker, request)
        return released

    # -- upkeep ----------------------------------------------------------------------------------------
    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        return await self._rescued(await (await self._engine()).rescue(limit, judge))

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        return await self._rescued(await (await self._engine()).rescue_worker(worker, started, judge))

    async def _rescued(self, rescued: list[Rescued]) -> list[Rescued]:
        await self._books.take_back(rescued)
        await self._end_of(job.id for job in rescued if job.state.finished)
        return rescued

    async def expire(self, limit: int) -> list[Expired]:
        """The rows of what has expired are ended by the reconciler, as those of jobs that ended with them."""
        return await (await self._engine()).expire(limit)

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        removed = await (await self._engine()).prune(retention, limit, run=run)
        await self._books.release_keys(retention, limit)
        return removed

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        removed = await super().remove_schedules(ids)
        await self._books.unshelve(ids)
        return removed

    async def purge(self, older_than: float, limit: int) -> int:
        """How many the engine had, or had lost."""
        return max(await super().purge(older_than, limit), await self._books.purge(older_than, limit))

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        return await self._books.forget(keep, older_than, limit)

    async def reconcile(self, limit: int, after: str | None = None) -> Reconciled:
        await self.give_back()
        engine = await self._engine()
        again, ended = await LostEnds(self._books, engine).tell(await self._whose(after))
        done = await Reconciler(self._books, engine).step(limit, after)
        return done._replace(restored=done.restored + again, ended=done.ended + ended)

    async def _whose(self, after: str | None) -> Iterable[str]:
        """Each looks at what its own workers hold; who has none, an operator, once at all."""
        if self._claims_for or after is not None:
            return self._claims_for
        return [worker.id for worker in await self.workers()]

    # -- operate ---------------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        told = await self._cancel_there(ids, reason)
        if unknown := [i for i, state in told.items() if state is None and is_id(i)]:
            told |= await self._cancel_here(unknown, reason)
        return [told[job_id] for job_id in ids]

    async def _cancel_there(self, ids: Sequence[str], reason: str) -> dict[str, State | None]:
        states = await (await self._engine()).cancel(ids, reason)
        told = dict(zip(ids, states, strict=True))
        await self._books.note_cancel([i for i, state in told.items() if state is State.ACTIVE], reason)
        await self._end_of(i for i, state in told.items() if state is not None and state.finished)
        return told

    async def _cancel_here(self, ids: Sequence[str], reason: str) -> dict[str, State | None]:
        """What the engine did not know: it may have been dispatched since, and may run."""
        await self._books.cancel(dict.fromkeys(ids, reason), idle=True)
        told = await self._cancel_there(ids, reason)
        lines = await self._books.lines(ids)
        lost = [i for i, line in lines.items() if not line.ended and told[i] is None]
        await self._books.note_cancel(lost, reason)
        told |= {line.id: State(line.status) for line in lines.values() if line.ended}
        return told | dict.fromkeys(lost, State.ACTIVE)

    async def promote(self, ids: Sequence[str]) -> int:
        promoted = await (await self._bring(ids)).promote(ids)
        await self._move(ids)
        return promoted

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        moved = await (await self._bring(ids)).reschedule(ids, delay)
        await self._move(ids)
        return moved

    async def _bring(self, ids: Sequence[str]) -> Fenced:
        """The engine, which knows these jobs: those that it lost, or never got, are dispatched."""
        engine = await self._engine()
        await Reconciler(self._books, engine).bring([job_id for job_id in ids if is_id(job_id)])
        return engine

    async def _move(self, ids: Sequence[str]) -> None:
        """Write when these are due by now."""
        found = await self._jobs_of([job_id for job_id in ids if is_id(job_id)])
        await self._books.move([job for job in found if not job.state.finished])

    async def delete(self, ids: Sequence[str]) -> int:
        removed = await (await self._engine()).delete(ids)
        return max(removed, await self._books.delete(ids))

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        heirs = await (await self._engine()).recover(recoveries)
        made = {r.dead_id: heir for r, heir in zip(recoveries, heirs, strict=True) if heir == r.new_id}
        if made:
            await self._adopt(list(made.values()))
            await self._books.hand_down(made)
            await self._books.inherit(made)
        if None not in heirs:
            return heirs
        lost = {r.dead_id: r for r, heir in zip(recoveries, heirs, strict=True) if heir is None}
        told = await self._recover_lost(lost)
        return [heir or told.get(r.dead_id) for r, heir in zip(recoveries, heirs, strict=True)]

    async def _recover_lost(self, wanted: Mapping[str, Recovery]) -> dict[str, str]:
        """What has failed by its row, and of which the engine has no dead letter any more."""
        found = await self._books.lines(list(wanted))
        failed = {dead: wanted[dead].new_id for dead, line in found.items() if line.has_letter}
        lines = await self._books.hand_down(failed) if failed else {}
        heirs = {dead: line.recovered_as for dead, line in lines.items() if line.recovered_as}
        known = await self._books.lines(list(heirs.values()))
        jobs = [heir_of(lines[dead], wanted[dead]) for dead, heir in heirs.items() if heir not in known]
        await self._books.put(jobs)
        await self._books.inherit({dead: heir for dead, heir in heirs.items() if heir not in known})
        await self._dispatch(jobs)
        return heirs

    async def _adopt(self, ids: Sequence[str]) -> None:
        await self._books.adopt(await self._jobs_of(ids))

    async def _end_of(self, ids: Iterable[str]) -> None:
        if ended := [job for job in await self._jobs_of(list(ids)) if job.state.finished]:
            await self._books.end(ended)

    async def _jobs_of(self, ids: Sequence[str]) -> list[Job]:
        engine = await self._engine() if ids else None
        found = [await engine.get(job_id) for job_id in ids] if engine else []
        return [job for job in found if job is not None]

    # -- inspect ---------------------------------------------------------------------------------------
    async def get(self, job_id: str) -> Job | None:
        """From the engine; what it lacks though it has not ended, or while it is away, from the row."""
        away = False
        try:
            found = await (await self._engine()).get(job_id)
        except EngineUnavailable:
            found, away = None, True
        if found is not None or not is_id(job_id):
            return found
        line = (await self._books.lines([job_id])).get(job_id)
        if line is None or (line.ended and not away):
            return None
        return seen(line, await self._books.database.now())

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        """From the engine; what it has lost, from the row, without its steps and its time."""
        found = await super().dead_letter(job_id)
        if found is not None or not is_id(job_id):
            return found
        line = (await self._books.lines([job_id])).get(job_id)
        return letter_of(line) if line is not None and line.has_letter else None

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        """How many the engine had, or had lost."""
        removed = await super().remove_dead_letters(ids)
        return max(removed, await self._books.drop_letters([job_id for job_id in ids if is_id(job_id)]))

    async def history(self, job_id: str) -> Record | None:
        line = (await self._books.lines([job_id])).get(job_id)
        return record_of(line) if line is not None and line.ended else None

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        told = self._clock.now() is None
        return [record_of(line) for line in await self._books.ended(where, limit, after, ids_tell_time=told)]


def _with_ledger(finding: Finding) -> Finding:
    """What Redis can lose is dispatched again: that keeps no worker from starting."""
    if finding.name == "persistence" and finding.level is Level.UNSAFE:
        return Finding(finding.name, Level.WARNING, f"{finding.text}; the ledger has every job")
    return finding


def _why_not(line: Line | None, paused: set[str]) -> str:
    if line is not None and line.ended:
        return f"though it is {line.status}; not run"
    return "though its queue is paused" if line is not None and line.queue in paused else "twice; handed back"


def _key_of(job: NewJob) -> KeyName:
    return job.queue, job.task, job.key


def _moved(job: NewJob, holders: Mapping[str, str]) -> NewJob:
    assert job.ties is not None
    edges = tuple(edge._replace(id=holders.get(edge.id, edge.id)) for edge in job.ties.after)
    return job._replace(ties=job.ties._replace(after=edges))


def _state_of(status: str) -> State:
    """Of a row that is known to have ended; of one about which nothing is known any more, that it waits."""
    return State.WAITING if status in (Status.PENDING, Status.PROCESSING) else State(status)


def _is_its_end(line: Line | None, end: Settlement) -> bool:
    return line is not None and line.token == end.token and line.status == Status.COMPLETED


def _as_debounced(claim: Claim, line: Line) -> Claim:
    """With what the latest newcomer brought: Redis may not have heard of it before it gave the job out."""
    return claim._replace(args=line.args, owner=line.owner) if line.key_kind == "debounce" else claim


def _awaited(job: NewJob) -> State:
    """The state that the engine would tell."""
    if job.ties is not None and job.ties.after:
        return State.BLOCKED
    quiet = job.window.seconds if job.unique and job.window.kind == "debounce" else 0.0
    return State.DELAYED if job.delay + quiet > 0 else State.WAITING


def _accepted(told: bool, true: set[tuple[str, str]], end: Settlement) -> bool:
    """What the ledger has is accepted, whatever the engine says of its token; a token ends one run."""
    saved = (end.id, end.token) in true
    true.discard((end.id, end.token))
    return told or saved
