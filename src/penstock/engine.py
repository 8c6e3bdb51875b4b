"""The engine contract: where jobs live, in about thirty verbs.

Every engine keeps these promises, and the conformance suite (`tests/conformance`) holds it to them.

**One atomic step.** A verb happens whole or not at all, and is acknowledged only after the engine's durable
point. A verb over several items does them in one step; an item that cannot be done is answered, not raised.

**Ownership.** A worker registers under a fresh id and lives while it is beaten for. A claim gives each job a
fresh random token. Every settle and progress is conditional on id, token and state: whoever has lost the job
is told so (`accepted` is False), and nothing changes. Expiry of a worker is final: once its row has been
taken by a rescue, or has passed its time, it can claim nothing, and `beat` answers `given_up`.

**Time.** The engine's own clock judges every stored instant, unless the injected `clock` answers (tests).
Durations cross this interface on the way in, instants only on the way out.

**Order.** Within a lane, jobs are claimed by rank: the due time less the head start of the priority; equal
ranks in the order of their ids. A queue's *open lane* bears the queue's own name. Other lanes are rows of
their own, and say who may claim from them: a parked lane is open to workers that know its task by another
signature than those that did not fit.

**Attempts** are counted at claim. An outcome with `refund` gives the attempt back.

**Finished is final.** A job that is completed, failed or cancelled never runs again; recovering a dead letter
makes a new job, linked both ways, which takes over the key.

**Errors.** A server that cannot be reached raises EngineUnavailable (nothing happened) or OutcomeUnknown (the
reply was lost). After an unknown enqueue, call again with the same ids and `again=True`; after an unknown
claim, call `release` with its request id; after an unknown settle, settle again with the same tokens and
`again=True`: what these tokens had already ended is answered as accepted, and not written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from penstock.model.job import Claim, DeadLetter, Enqueued, Held, Job, NewJob
from penstock.model.outcome import Outcome
from penstock.model.states import State

Judge: TypeAlias = Callable[[Held], Outcome]


class Want(NamedTuple):
    """What a worker can take now."""

    worker: str
    request: str  # fresh for each call: names what this call claimed, should its answer be lost
    queues: Mapping[str, int]  # queue -> how many from it at most
    limit: int  # how many in all
    tasks: Mapping[str, str]  # task name -> fingerprint of its signature


class Settlement(NamedTuple):
    """The end of one run."""

    id: str
    token: str
    outcome: Outcome
    ran_for: float = 0.0  # seconds
    keep: bool = True  # False: a completed job leaves no record


class Settled(NamedTuple):
    """The answer to a settle: for each settlement whether it was accepted; and the next claims."""

    accepted: list[bool]
    claims: list[Claim]
    expired: bool = False  # the worker in `want` is not alive any more


class CancelOrder(NamedTuple):
    job_id: str
    token: str


class Orders(NamedTuple):
    """What a heartbeat brings back."""

    given_up: bool = False
    cancel: tuple[CancelOrder, ...] = ()
    paused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker process: who it is and what it does."""

    id: str
    name: str  # host:pid, for people
    queues: tuple[str, ...]
    slots: int
    started_at: datetime | None = None
    expires_at: datetime | None = None
    active: int = 0
    alive: bool = True


class Rescued(NamedTuple):
    """One job taken back from a worker that is gone."""

    id: str
    queue: str
    task: str
    worker: str
    state: State


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past one queue keeps. None is no bound of that kind."""

    queue: str
    keep_completed: int | None = 1_000
    keep_failed: int | None = 5_000  # of failed and cancelled jobs together
    max_age: float | None = None  # seconds since the end, completed, failed and cancelled alike


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list. Empty means all; newest first.

    Found by time are jobs whose id was made within a minute of their creation; near the ends of the range
    others may be left out.
    """

    queue: str | None = None
    task: str | None = None
    state: State | None = None
    owner: str | None = None
    key: str | None = None
    since: datetime | None = None  # created at or after
    until: datetime | None = None  # created before
    parked: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters to list. Those already recovered only where asked for; newest first."""

    queue: str | None = None
    task: str | None = None
    reason: str | None = None
    since: datetime | None = None  # failed at or after
    until: datetime | None = None
    recovered: bool = False


class Recovery(NamedTuple):
    """Recover one dead letter as a new job; `args` replaces the payload where given."""

    dead_id: str
    new_id: str
    args: str | None = None
    delay: float = 0.0


class Parked(NamedTuple):
    """A parked lane: what waits there and why."""

    lane: str
    queue: str
    task: str
    reason: str
    jobs: int


class Level(StrEnum):
    """How bad a finding is.

    What is unsafe keeps a worker from starting, unless it is accepted by name; what is unusable cannot even
    be opened, and no accepting helps.
    """

    OK = "ok"
    WARNING = "warning"
    UNSAFE = "unsafe"
    UNUSABLE = "unusable"


class Finding(NamedTuple):
    """One thing that a look at the place where jobs live has found."""

    name: str
    level: Level
    text: str  # what is so; where it is not well, what that means and what to do


@dataclass(frozen=True, slots=True)
class QueueState:
    """What the engine knows of a queue."""

    queue: str
    paused: bool
    counts: Mapping[State, int]


class Engine(Protocol):
    """Where jobs live. See the module's text for what every verb promises."""

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
    async def enqueue(self, jobs: Sequence[NewJob], *, again: bool = False) -> list[Enqueued]:
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

    async def beat(self, worker: str, ttl: float) -> Orders:
        """Keep a worker alive for `ttl` seconds more and bring back its orders."""
        ...

    async def claim(self, want: Want) -> list[Claim]:
        """Take the waiting jobs first in rank. WorkerExpired where the worker is not alive."""
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

    async def release(self, worker: str, request: str) -> int:
        """Hand back what the claim with this request id took and nobody received; how many."""
        ...

    async def wait(self, queues: Sequence[str], timeout: float) -> None:
        """Return when work may be there for these queues, or after `timeout` seconds. May return early."""

    # -- upkeep: every worker does it, in bounded steps -----------------------------------------------
    async def stage(self, limit: int) -> float | None:
        """Move delayed jobs that are due to waiting; seconds until the next falls due, None if none will."""
        ...

    async def rescue(self, limit: int, judge: Judge) -> list[Rescued]:
        """Take jobs back from workers whose time has passed; `judge` says what becomes of each.

        Their rows are taken first and for good, their jobs in the same step. All of them count as started.
        A worker with more than `limit` jobs is emptied over several calls.
        """
        ...

    async def rescue_worker(self, worker: str, started: frozenset[str], judge: Judge) -> list[Rescued]:
        """Take all jobs back from a worker seen to be dead; `started` are the tokens it had begun."""
        ...

    async def expire(self, limit: int) -> int:
        """Cancel waiting and delayed jobs that passed their own expiry; how many."""
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

    async def tidy(self) -> None:
        """Fold counters, checkpoint, drop what is empty: housekeeping that changes no meaning."""

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

    async def delete(self, ids: Sequence[str]) -> int:
        """Remove the records of finished jobs, and the keys they hold; how many."""
        ...

    async def recover(self, recoveries: Sequence[Recovery]) -> list[str | None]:
        """Make new jobs of dead letters, attempts reset, keys taken over, linked both ways.

        They have no expiry, whatever the first had: somebody asked for them now.

        Answers the id of the job each was recovered as, also where that happened earlier; None for no such
        dead letter.
        """
        ...

    async def set_paused(self, queue: str, paused: bool) -> None:
        """Stop or resume claims from a queue, for every worker."""

    # -- inspect: bounded, none scans a table -----------------------------------------------------------
    async def get(self, job_id: str) -> Job | None:
        """One job, finished or not."""
        ...

    async def jobs(self, where: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        """Jobs that match, newest first; `after` is the id of the last job of the page before."""
        ...

    async def dead_letters(self, where: DeadFilter, limit: int, after: str | None = None) -> list[DeadLetter]:
        """Dead letters that match, by job id, newest first; `after` is the last job id of the page before."""
        ...

    async def dead_letter(self, job_id: str) -> DeadLetter | None:
        """One dead letter, recovered or not."""
        ...

    async def queues(self) -> list[QueueState]:
        """Every queue that was ever used, with its counts, sorted by name."""
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
