"""The engine contract: where jobs live, and what is kept with them.

Every engine keeps these promises, and the conformance suite (`tests/conformance`) holds it to them.

**One atomic step.** A verb happens whole or not at all, and is acknowledged only after the engine's durable
point. A verb over several items does them in one step; an item that cannot be done is answered, not raised.

**Ownership.** A worker registers under a fresh id and lives while it is beaten for. A claim gives each job a
fresh random token. Every settle and progress is conditional on id, token and state: whoever has lost the job
is told so (`accepted` is False), and nothing changes. Expiry of a worker is final: once its row has been
taken by a rescue, or has passed its time, it can claim nothing, and `beat` answers `given_up`.

**Orders.** A person may order a worker to claim nothing more, or to end: `order_worker` keeps that with the
worker's row, each heartbeat brings it, and it goes with the worker. The last order stands; None takes it
back.

**Time.** The engine's own clock judges every stored instant, unless the injected `clock` answers (tests).
Durations cross this interface on the way in, instants only on the way out.

**Order.** Within a lane, jobs are claimed by rank: the due time less the head start of the priority; equal
ranks in the order of their ids. A queue's *open lane* bears the queue's own name. Other lanes are rows of
their own, and say who may claim from them: a parked lane is open to workers that know its task by another
signature than those that did not fit.

**Lanes and limits.** A *group* is a set of lanes under one limit (`model/lanes.py` has the names): the whole
queue, under the queue's own name; a task's lanes; the lanes of a queue's keys. `put_groups` declares them.
A job may start when all of these let it: the group of its queue, the group of its lane, and, where the lane
has a key, the lane itself, by the group's `per_key`. Each holds for itself: `concurrency`, over its active
jobs; a rate, as `model/limits.py` counts it, spent at claim and never given back; a cooldown, until which
nothing starts. A group that `needs` breakers starts nothing while one of them is open, and probes while one
is half-open. A group nobody has declared has no limits. One that is declared to bound nothing is not listed.
What is declared, a breaker too, is to be declared again within DECLARED_FOR seconds: `tidy` lets go of groups
after that, and of those that bound nothing, where no job of theirs waits or runs and what they have spent is
earned; of breakers, where no group needs them. A new declaration replaces the limits and keeps what runs and
what was spent. What cannot start is not looked through: a claim costs the same behind a million such
jobs. Decisions about limits are taken and written in the claim's own atomic step; active jobs are given back
in the step that ends their run, whichever verb that is. Where limits are declared while jobs of theirs run
already, those count from then on.

*Fairness.* The limited lanes of a queue take turns. A lane's turn is the rank of its first waiting job, but
no earlier than OLDEST_TURN ago, plus what the lane owes: TURN_COST for each job claimed from it, worked off
as time passes. Where, as a claim begins, every lane of a queue that may start something owes, the least that
one of them does is forgiven to all lanes of the queue: what a lane had while nobody else wanted anything is
not held against it. A claim takes, over all lanes, first what has the earliest turn, as if it took one job
after the other: the next of the same lane by its own rank, and TURN_COST later; jobs of the open lane by
their rank, but no earlier than OLDEST_TURN ago. Of equal turns any may be first. So priorities hold between
lanes, and one lane's million jobs do not stop the others.

*What comes of a claim that is held back:* `next_in` says after how many seconds it is worth asking again,
where only time is needed (a rate, a cooldown, an open breaker): the soonest of the queues that start nothing
though jobs wait there, of such groups in the other queues, of such lanes in the other groups. Where a run
must end first, the step that ends it wakes those who `wait` for the queue. `Want.free` bounds what comes from
limited lanes and from queues with a limit: nothing is claimed ahead from them.

**Attempts** are counted at claim. An outcome with `refund` gives the attempt back.

**Expiry.** A job that passes it before it has begun is cancelled. One that goes back in line after a run,
that is to another place, or as a suspect, has no expiry any more.

**Keys.** A given key is held by one job at a time, per queue and task; a job that comes with a taken key is
answered with the holder and not made. How long it is held is the window of the job that holds it:
*record*, while the holder's record lives, finished or not; *unfinished*, until it ends; *started*, until it
is first claimed (back in line it does not get it again) or ends; *period*, for so many seconds from its
enqueueing and at least until it ends, also when its record is gone; *debounce*, like *started*: meanwhile a
newcomer replaces its payload, owner, options, priority and lane (but for a parked one), puts its due time
off to the newcomer's delay plus the newcomer's window from now (its expiry moves with it), and is answered as
a duplicate. A debounced job itself comes in delayed by its delay plus its window. A job that loses its record
loses its key, but for a period's rest, during which it is answered as completed.

**Ties.** A job may wait for others (`Ties.after`): it is *blocked* until each has ended. An edge is resolved
when the job it names completes. Where that job fails or is cancelled, `on_failure` decides: *fail*, the
blocked job is cancelled with a note that names it, and so are those that wait for that one; *ignore*, the
edge is resolved; *continue*, all its edges are, and it runs at once; *wait*, nothing: the job stays blocked,
and where the failed one is recovered, or has been, waits for the recovered one. A job with no edge left is
due at its own due time or now, whichever is later (its expiry is put off as much). Edges to jobs that are
finished already are resolved as it is put in, and so are those to jobs that have come (`Edge.has_come`) and
left neither a record nor a dead letter; to jobs that do not exist yet, when those have come and ended: such a
job must come with `feeds`. An edge to a job of the same call whose key was taken leads to the holder, which
has come. Of several ends in one step any may be told first: of a *fail* and a *continue*, either may decide.
`cancel` of a blocked job cancels those that wait for it, by the same rule. A blocked job that passes its
deadline is, by `expire`: cancelled (*skip*), let go (*run*), or failed, with a dead letter of reason
"upstream-missing" and no error (*fail*). `model/outcome.py` has the notes: UPSTREAM_FAILED, UPSTREAM_LATE,
UPSTREAM_MISSING.

Jobs put in with the same `FlowName` are a flow. While one of them is unfinished, none of its members is
pruned, nor counted as kept, nor goes without a record where `keep` is False; when the last ends, they are
like others. A flow none of whose members has a record any more is dropped by `tidy`. What a member that has a
record is recovered as is a member too.

**Jobs that follow.** The jobs in `Settlement.then` are put in by the step that settles, where it is accepted
and completes the run; else they are not made.

**Steps** are named pieces of a run whose results are kept: they live as long as the job's record, and a
recovered job has them too.

**Effects** are records that something named has been done for a task's key, written in the transaction that
does it: a second one of the same task, key and name is not the first. A record counts until its time has
passed, and beyond that while its job is unfinished or has a dead letter that may be recovered; a recovered
job takes over the records of its key. A finished job may be pruned before them.

**Breakers** are kept by the engine, for all workers: `model/breaker.py` is what they mean. A claim under a
half-open one is a probe, by the job's id, and is told so (`Claim.probe`): one that finds the service still
down has its attempt given back (`model/decide.py`), so that no job burns its attempts for all others, however
long that lasts. The end of a run is told to the breakers its group needs by
`Outcome.healthy`; every other end of a run, and a rescue, tells them nothing and gives a probe's place back.
Of several ends in one step any may be told first. Where groups are declared to need a breaker no more, the
places of their probes are free again.

**Schedules** are rows: what they are is the caller's (`spec`), when the next tick is due is the engine's.
`fire` writes one tick, together with its job, once, whoever fires it and however often.

**Shelves.** A finished job is counted and pruned with those of its shelf: its queue's, unless it was put in
with another. `Retention.queue` may name such a shelf. That of a schedule is `@` and its id: where there is no
such schedule, or it is said to keep nothing apart any more, `tidy` puts what stands there on the shelves of
the queues, in bounded steps.

**History.** Of every job that has ended there is a Record (`model/record.py`), also when its own record has
been pruned: `prune` moves what it removes to the history, and a completed job that keeps no record is written
there by the step that settles it, unless they are told otherwise. `forget` bounds the history. A deleted
job is not in it. In SQL the Records of all jobs, unfinished ones too, are `background_jobs`. Redis has no
history: there the Record goes with the job's own (`penstock/ledger` keeps one beside it).

**Notes** are small documents of whoever serves the jobs: tokens, entries of an audit, the state of alerts.
Engines do not read them. Each has a kind and a key, and a version, which grows by one with each change;
`put_note` with `expect` changes only the version that was read, so that of several who do only one does. A
note past its time is as if it were not there; `tidy` removes it, in bounded steps. One that is gone begins
at version 1 again: who must know it for the same writes who he is into it. `engine/notes.py` says what a kind
and a key may be. With a ledger beside Redis, notes of the kinds LASTING are in the ledger, so that no loss of
Redis lets anybody in; the others, samples and the feed are in Redis alone.

**The feed** is what happened to jobs, told by those who ran them, for those who watch; the jobs themselves
are the truth. Numbers grow in the order in which events can be seen: who goes on from the cursor of each page
misses none. The last FEED_KEPT are kept. What is asked for and not there any more is a *gap*, and so is a
number that this feed has not come to yet, or was never at: that of an engine that was emptied. Publishing is
best effort: what is told twice is there twice, and after an unknown outcome it is not told again.

**Samples** are what workers have counted since they last told. `count` adds them to the minute that it is by
the engine's clock, to the quarter of an hour that it is, all tasks of a queue together, and to the totals,
which only grow. Minutes and quarters are kept for SERIES_KEPT seconds; `tidy` drops older ones, in bounded
steps. What is counted twice is there twice: after an unknown outcome it is not counted again.

**Standing.** How many of its lane are claimed before a job is counted as far as asked and no further; limits
and other lanes are not looked at. `oldest_at` of a queue is the earliest due time of the first jobs, by rank,
of its open lane and of those under limits, OLDEST_LANES of them at most; what is parked does not count, see
`parked`. Jobs that have passed their expiry do not count in either.

**Finished is final.** A job that is completed, failed or cancelled never runs again; recovering a dead letter
makes a new job, linked both ways, which takes over the key.

**Lent connections.** `OnLent` is what an engine does inside a transaction that is not its own, over a
connection that the caller lends (`penstock.lent`): rolled back, also to a savepoint, it never was; committed,
it is as if the engine had done it then. What it makes is seen by nobody before. The verbs mean what they mean
elsewhere, but for three things. *Time* is the time of the call, not of the commit. *Wake-ups* come with the
commit where the database can send them; else who waits finds the job when it looks by itself. *Errors* of the
caller's own driver come out as they are where they concern his transaction (a deadlock, a lost connection):
he rolls back and begins again, as with statements of his own. An engine that is in no database of which a
caller could have a connection has no such verbs: NotSupported.

**Errors.** A server that cannot be reached raises EngineUnavailable (nothing happened) or OutcomeUnknown (the
reply was lost). After an unknown enqueue, call again with the same ids and `again=True`; after an unknown
claim, call `release` with its request id; after an unknown settle, settle again with the same tokens and
`again=True`: what these tokens had already ended is answered as accepted, and not written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from penstock.engine.counting import SERIES_KEPT, Minute, Quarter, Sample
from penstock.engine.effects import Effect, EffectFilter, EffectName, EffectRecord
from penstock.engine.feeding import FEED_KEPT, FeedPage, JobEvent
from penstock.engine.limiting import DECLARED_FOR, Entry, Group, GroupState, LaneState, LimitState
from penstock.engine.looking import (
    NOT_READ,
    OLDEST_LANES,
    DeadFilter,
    Flow,
    HistoryFilter,
    JobFilter,
    Parked,
    QueueState,
    Recovery,
    Standing,
    Survey,
)
from penstock.engine.notes import Note
from penstock.engine.running import (
    CancelOrder,
    Claimed,
    Expired,
    Grip,
    Judge,
    Order,
    Orders,
    Rescued,
    Rhythm,
    Settled,
    Settlement,
    Want,
    WorkerInfo,
)
from penstock.engine.scheduling import (
    STILL_RUNS,
    STILL_WAITS,
    TICKS_KEPT,
    DueSchedules,
    Overlap,
    ScheduleRow,
    Tick,
    TickRecord,
)
from penstock.engine.transactions import AsyncTransaction, OnLent, Transaction, Transactions
from penstock.engine.upkeep import Finding, Level, Outlook, Reconciled, Retention
from penstock.model.breaker import Breaker, BreakerState, Circuit
from penstock.model.job import DeadLetter, Enqueued, Job, NewJob
from penstock.model.record import Record
from penstock.model.states import State

__all__ = [
    "DECLARED_FOR",
    "FEED_KEPT",
    "NOT_READ",
    "OLDEST_LANES",
    "SERIES_KEPT",
    "STILL_RUNS",
    "STILL_WAITS",
    "TICKS_KEPT",
    "AsyncTransaction",
    "CancelOrder",
    "Claimed",
    "DeadFilter",
    "DueSchedules",
    "Effect",
    "EffectFilter",
    "EffectName",
    "EffectRecord",
    "Engine",
    "Entry",
    "Expired",
    "FeedPage",
    "Finding",
    "Flow",
    "Grip",
    "Group",
    "GroupState",
    "HistoryFilter",
    "JobEvent",
    "JobFilter",
    "Judge",
    "LaneState",
    "Level",
    "LimitState",
    "Minute",
    "Note",
    "OnLent",
    "Order",
    "Orders",
    "Outlook",
    "Overlap",
    "Parked",
    "Quarter",
    "QueueState",
    "Reconciled",
    "Recovery",
    "Rescued",
    "Retention",
    "Rhythm",
    "Sample",
    "ScheduleRow",
    "Settled",
    "Settlement",
    "Standing",
    "Survey",
    "Tick",
    "TickRecord",
    "Transaction",
    "Transactions",
    "Want",
    "WorkerInfo",
]


class Engine(Protocol):
    """Where jobs live. See the module's text for what every verb promises."""

    rhythm: Rhythm

    # -- life ---------------------------------------------------------------------------------------
    async def open(self) -> None:
        """Connect and check the schema: SchemaMissing or SchemaTooNew where it does not fit."""

    async def close(self) -> None:
        """Let go of every connection, thread and file. Safe to call twice."""

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; names of the migrations applied. Safe from many processes at once."""
        ...

    async def examine(self) -> list[Finding]:
        """What is safe and what is not about the place where jobs live. The engine need not be open."""
        ...

    # -- in -----------------------------------------------------------------------------------------
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:
        """Put jobs in, all or none, and answer in their order.

        A given key that is taken answers with the job that holds it, flagged as duplicate, and creates
        nothing. `again` says that an earlier call with these ids may have succeeded: what is there already,
        unfinished or finished, is answered as its own and not doubled. Unfinished jobs are known without
        being told: the same jobs may be on their way in twice at once.
        """
        ...

    # -- run ----------------------------------------------------------------------------------------
    async def register(self, worker: WorkerInfo, ttl: float) -> None:
        """Announce a worker, alive for `ttl` seconds."""

    async def beat(self, worker: str, ttl: float, memory: int | None = None) -> Orders:
        """Keep a worker alive for `ttl` seconds more and bring back its orders.

        `memory` is how many bytes its process has, where that is known.
        """
        ...

    async def claim(self, want: Want) -> Claimed:
        """Take the waiting jobs whose turn it is. WorkerExpired where the worker is not alive."""
        ...

    async def settle(
        self, ends: Sequence[Settlement], want: Want | None = None, *, again: bool = False
    ) -> Settled:
        """Write how runs ended, and claim the next in the same round trip.

        A failed outcome writes its dead letter in the same step. Settling does not depend on the worker
        being alive, only on the token; where the worker is not, nothing is claimed and `expired` is set.
        `again` says that an earlier call with these tokens may have succeeded.
        """
        ...

    async def progress(self, job_id: str, token: str, progress: str) -> bool:
        """Store the progress (JSON text) of a run; False where the job is not the caller's any more."""
        ...

    async def save_step(self, job_id: str, token: str, name: str, value: str) -> bool:
        """Keep the result (JSON text) of a step of a run; False where the job has passed on."""
        ...

    async def release(self, worker: str, request: str) -> int:
        """Hand back what the claim with this request id took and nobody received; how many."""
        ...

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        """Return when work may be there for these queues, or after `timeout` seconds. May return early."""

    async def claim_next(self, want: Want, timeout: float) -> Claimed:
        """As `wait` for the wanted queues, and then `claim`: with as little time as may be in between.

        Whoever cancels it cannot know whether it has claimed: the request is to be released.
        """
        ...

    # -- upkeep: every worker does it, in bounded steps -----------------------------------------------
    async def outlook(self) -> Outlook:
        """What of `stage`, `fire`, `rescue` and `tidy` there is to do; cheap, for all ask for it often."""
        ...

    async def stage(self, limit: int) -> float | None:
        """Move delayed jobs that are due to waiting; seconds until the next falls due, None if none will."""
        ...

    async def due_schedules(self, limit: int) -> DueSchedules:
        """Schedules whose next tick is due, equal ones by their ids; where more than `limit` are, the seconds
        to the next are 0. Paused ones have no ticks. A `limit` of 0 only asks for the times.
        """
        ...

    async def fire(self, tick: Tick) -> TickRecord | None:
        """Write a tick and its job; None where the schedule is gone, paused, or not due then any more.

        While the latest job of the schedule is unfinished, `overlap` *skip* lets the tick pass, noted as
        STILL_RUNS; *queue* blocks the new job behind that one (an edge that ignores failure), or, where that
        one is itself blocked, lets the tick pass, noted as STILL_WAITS. The last TICKS_KEPT ticks are kept. A
        key or an id that is taken makes no job: the tick names the holder, and the schedule's latest job
        stays what it was. Which ticks to fire is the caller's to judge: the time is not looked at.
        """
        ...

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        """Take jobs back from workers whose time has passed; `judge` says what becomes of each.

        Their rows are taken first and for good, their jobs in the same step. All of them count as started.
        A worker with more than `limit` jobs is emptied over several calls. A job that cannot be judged, or
        whose end cannot be stored, stays as it was held, is logged, and holds up no other.
        """
        ...

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        """Take all jobs back from a worker seen to be dead; `started` are the tokens it had begun."""
        ...

    async def expire(self, limit: int) -> list[Expired]:
        """Cancel waiting and delayed jobs that passed their expiry, then end the wait of blocked ones that
        passed their deadline; these, and not those that end because one of these did."""
        ...

    async def prune(self, retention: Retention, limit: int, *, run: str | None = None) -> int:
        """Remove finished jobs beyond what the queue keeps, with their keys; how many, at most `limit`.

        The newest are kept; in which order the others go is the engine's to choose.
        `run` names a clean-up that is done once for a queue, by whoever comes first: for the others, and for
        a name that sorts before the latest, nothing is removed.
        """
        ...

    async def purge(self, older_than: float, limit: int) -> int:
        """Remove dead letters that failed more than `older_than` seconds ago; how many."""
        ...

    async def forget(self, keep: int, older_than: float, limit: int) -> int:
        """Remove from the history what ended more than `older_than` seconds ago, and all but the latest.

        `keep` of them are kept at most. Answers how many went, at most `limit`.
        """
        ...

    async def forget_effects(self, limit: int) -> int:
        """Remove the records of effects that count no more; how many were looked at, at most `limit`."""
        ...

    async def reconcile(self, limit: int, after: str | None = None) -> Reconciled | None:
        """Repair what lies between the engine and a ledger beside it, a bounded step from `after` on; None
        where there is none.
        """
        ...

    async def tidy(self, unshelved: Sequence[str] = ()) -> None:
        """Fold counters, checkpoint, drop what is empty: housekeeping that changes no meaning.

        `unshelved` are schedules that keep nothing apart.
        """

    # -- operate --------------------------------------------------------------------------------------
    async def cancel(self, ids: Sequence[str], reason: str) -> list[State | None]:
        """Cancel unfinished jobs; an active one is asked to stop by its worker's next heartbeat.

        The first reason given becomes the note of the job, also where its run has to end first. Answers the
        state each is in afterwards; None for no such job.
        """
        ...

    async def promote(self, ids: Sequence[str]) -> int:
        """Make delayed jobs due now; how many."""
        ...

    async def reschedule(self, ids: Sequence[str], delay: float) -> int:
        """Make waiting and delayed jobs due in `delay` seconds; how many. Their expiry moves with them."""
        ...

    async def delete(self, ids: Sequence[str]) -> int:
        """Remove the records of finished jobs, also from the history, and the keys they hold; how many."""
        ...

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        """Make new jobs of dead letters, attempts reset, keys taken over, linked both ways.

        They have no expiry, whatever the first had: somebody asked for them now. They wait for nobody:
        `after` names those for whom the first has waited, while that one has a record.

        Answers the id of the job each was recovered as, also where that happened earlier; None for no such
        dead letter.
        """
        ...

    async def remove_dead_letters(self, ids: Sequence[str]) -> int:
        """Remove the dead letters of these jobs, recovered or not; how many there were. The jobs stay."""
        ...

    async def set_paused(self, queue: str, paused: bool) -> None:
        """Stop or resume claims from a queue, for every worker."""

    async def order_worker(self, worker: str, order: Order | None) -> bool:
        """Order a worker by its next heartbeat, or take the order back; False where it is not alive."""
        ...

    # -- declare --------------------------------------------------------------------------------------
    async def put_groups(self, groups: Sequence[Group]) -> None:
        """Declare limits; those declared before under the same names are replaced."""

    async def put_breakers(self, breakers: Sequence[Breaker]) -> None:
        """Declare breakers; one that is there keeps its state and takes the new numbers."""

    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        """Add schedules, or change those that are there; `last_…` and, of one that is there, `paused` are not
        read.

        Where neither spec nor source differ, nothing changes. Where the spec does, `next_at` is replaced too,
        unless it has passed (that tick is still to be fired) or the schedule is paused.
        """

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        """Remove schedules and the records of their ticks, not the jobs; how many there were."""
        ...

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        """Stop or resume the ticks of a schedule, which goes on at `next_at`; False for no such schedule.

        Where it is stopped, or going, already, nothing changes. One that is stopped has no `next_at`.
        """
        ...

    # -- notes ----------------------------------------------------------------------------------------
    async def put_note(
        self, kind: str, key: str, body: str, *, ttl: float | None = None, expect: int | None = None
    ) -> int | None:
        """Keep a note, for `ttl` seconds or for good; its version.

        `expect`: only where this is the version that is there, 0: only where there is none; else None, and
        nothing changes. After an unknown outcome, read it.
        """
        ...

    async def note(self, kind: str, key: str) -> Note | None:
        """One note."""
        ...

    async def notes(
        self, kind: str, limit: int, after: str | None = None, *, newest: bool = False
    ) -> list[Note]:
        """Notes of a kind by their keys, where `newest` from the last one down; `after` is the last key of
        the page before.
        """
        ...

    async def remove_notes(self, kind: str, keys: Sequence[str]) -> int:
        """Remove notes; how many there were."""
        ...

    async def forget_notes(self, kind: str, older_than: float, limit: int) -> int:
        """Remove notes last written more than `older_than` seconds ago; how many, at most `limit`."""
        ...

    # -- watch ----------------------------------------------------------------------------------------
    async def publish(self, events: Sequence[JobEvent]) -> None:
        """Tell those who watch; MAX_EVENTS at once."""

    async def feed(self, after: int | None, limit: int) -> FeedPage:
        """What has been told after this number, 0: all that is kept; None: only where the feed stands now."""
        ...

    async def count(self, samples: Sequence[Sample]) -> None:
        """Add to the minute and the quarter that it is, and to the totals; MAX_SAMPLES at once."""

    async def series(self, since: datetime, until: datetime, queue: str | None = None) -> list[Minute]:
        """What was counted in the minutes that began at or after the first and before the second, by time,
        queue and task.
        """
        ...

    async def quarters(self, since: datetime, until: datetime, queue: str | None = None) -> list[Quarter]:
        """As `series`, of quarters of an hour and whole queues: of a week there are few enough to show."""
        ...

    async def totals(self) -> list[Sample]:
        """All that was ever counted, by queue and task."""
        ...

    # -- breakers, as used inside a handler -----------------------------------------------------------------
    async def enter_breaker(self, name: str, permit: str) -> Entry:
        """Ask to start under a breaker. A probe's place counts until it is reported, `reset` seconds at most.

        A breaker nobody has declared is closed.
        """
        ...

    async def report_breaker(self, name: str, permit: str, healthy: bool | None) -> None:
        """Say how that ended."""

    async def set_breaker(self, name: str, circuit: Circuit) -> bool:
        """Close or open a breaker by hand; False for no such breaker."""
        ...

    # -- inspect: bounded, none scans a table -----------------------------------------------------------
    async def survey(self, reach: float) -> Survey:
        """What stands, in one round trip; of what was counted, the minutes that began `reach` seconds ago or
        later.
        """
        ...

    async def get(self, job_id: str) -> Job | None:
        """One job, finished or not."""
        ...

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        """Jobs that match, newest first; `after` is the id of the last job of the page before."""
        ...

    async def history(self, job_id: str) -> Record | None:
        """The Record of a job that has ended, pruned or not."""
        ...

    async def histories(self, where: HistoryFilter, limit: int, after: str | None = None) -> list[Record]:
        """Records of jobs that have ended, newest first; `after` is the last id of the page before."""
        ...

    async def steps(self, job_id: str) -> dict[str, str]:
        """The results of a job's steps, in the order in which they were first kept."""
        ...

    async def flow(self, flow_id: str) -> Flow | None:
        """A flow and those of its members that have a record."""
        ...

    async def flows(self, limit: int, after: str | None = None) -> list[Flow]:
        """Flows, newest first, without their members; `after` is the last id of the page before."""
        ...

    async def groups(self) -> list[GroupState]:
        """Every declared group, sorted by name."""
        ...

    async def lanes(self, group: str, limit: int, after: str | None = None) -> list[LaneState]:
        """Lanes of a group, by name; `after` is the last of the page before."""
        ...

    async def limits_of(self, lane: str) -> list[LimitState]:
        """What may hold the jobs of a lane back: its queue's limit, its group's, its key's, in this order.

        Also of groups that nobody has declared, while they cool down; what bounds nothing is left out.
        """
        ...

    async def breakers(self) -> list[BreakerState]:
        """Every breaker, sorted by name."""
        ...

    async def schedules(self) -> list[ScheduleRow]:
        """Every schedule, sorted by id."""
        ...

    async def ticks(self, schedule_id: str, limit: int) -> list[TickRecord]:
        """The latest ticks of a schedule, newest first."""
        ...

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        """Dead letters that match, by job id, newest first; `after` is the last job id of the page before."""
        ...

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        """One dead letter, recovered or not."""
        ...

    async def effects(
        self, where: EffectFilter, limit: int, after: EffectName | None = None
    ) -> list[EffectRecord]:
        """Effects that match; `after` names the last of the page before."""
        ...

    async def queues(self) -> list[QueueState]:
        """Every queue that was ever used, with its counts, sorted by name."""
        ...

    async def standing(self, job_id: str, most: int) -> Standing | None:
        """How many are claimed before this job in its lane, counted up to `most`; None: it does not wait."""
        ...

    async def unfinished_of(self, owner: str, most: int) -> int:
        """How many jobs of this owner have not ended, counted up to `most`."""
        ...

    async def dead_count(self) -> int:
        """How many dead letters are not recovered."""
        ...

    async def workers(self) -> list[WorkerInfo]:
        """Every registered worker, alive or not yet rescued."""
        ...

    async def parked(self) -> list[Parked]:
        """Every parked lane that holds jobs."""
        ...
