"""A job: as it is put in, as a worker holds it, as a person sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from penstock.model.priority import Priority
from penstock.model.states import State, Status, status_of
from penstock.model.values import loads, readable

WindowKind: TypeAlias = Literal["record", "unfinished", "started", "period", "debounce"]
OnFailure: TypeAlias = Literal["fail", "continue", "ignore", "wait"]
AtDeadline: TypeAlias = Literal["skip", "run", "fail"]


class Window(NamedTuple):
    """How long a given key keeps others out: see "Keys" in the engine contract."""

    kind: WindowKind = "record"
    seconds: float = 0.0  # of a period or a debounce


RECORD = Window()


class Edge(NamedTuple):
    """A job must end before another may begin; and what becomes of the other when it ends badly."""

    id: str
    on_failure: OnFailure = "fail"
    has_come: bool = False  # it was there: where no record of it is left, it has ended


class FlowName(NamedTuple):
    """A flow: jobs with edges, put in together."""

    id: str
    name: str


class Ties(NamedTuple):
    """What ties a job to others. Most have none."""

    after: tuple[Edge, ...] = ()
    feeds: bool = False  # others may name it in `after` without being put in together with it
    flow: FlowName | None = None
    deadline: float | None = None  # seconds from now that it may stay blocked
    at_deadline: AtDeadline = "skip"
    shelf: str | None = None  # with whose finished jobs it is counted and pruned; None: those of its queue
    origin: str | None = None  # what made it, for people: "schedule nightly at 2026-…", "event order.paid"


class NewJob(NamedTuple):
    """A job on its way in. Its id is made by the client, so that enqueueing twice is enqueueing once."""

    id: str
    queue: str
    task: str
    args: str = "{}"  # JSON text of an object
    key: str = ""  # the idempotency key; a minted one is the id
    unique: bool = False  # the key was given: one job per (queue, task, key), for as long as `window` says
    priority: int = Priority.MEDIUM
    delay: float = 0.0  # seconds until due
    max_attempts: int = 3
    owner: str | None = None
    expire_after: float | None = None  # seconds after the due time
    options: str | None = None  # JSON text of what this call overrides
    lane: str | None = None  # None: the queue's open lane
    window: Window = RECORD
    ties: Ties | None = None
    order: str | None = None  # which line it stands in on its way through an outbox; engines do not read it


class Enqueued(NamedTuple):
    """The answer to one enqueue: the new job, or the one that already held the key."""

    id: str
    state: State
    duplicate: bool


class AllWait(Sequence[Enqueued]):
    """The answers to jobs that are all new and wait, each made when it is read.

    Thousands that are made at once are gone through by the collector of garbage before anybody reads them.
    """

    __slots__ = ("_jobs",)

    def __init__(self, jobs: Sequence[NewJob]) -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])

    @overload
    def __getitem__(self, at: int) -> Enqueued: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Enqueued]: ...
    def __getitem__(self, at: int | slice) -> Enqueued | Sequence[Enqueued]:
        if isinstance(at, slice):
            return AllWait(self._jobs[at])
        return Enqueued(self._jobs[at].id, State.WAITING, False)

    def __iter__(self) -> Iterator[Enqueued]:
        make, state = tuple.__new__, State.WAITING  # a named tuple by its own name takes twice as long
        for job in self._jobs:
            yield make(Enqueued, (job.id, state, False))


class Claim(NamedTuple):
    """A job in a worker's hand. Only the holder of the token may settle it."""

    id: str
    token: str
    queue: str
    task: str
    lane: str
    args: str
    key: str
    attempt: int  # this one included: counts from 1
    max_attempts: int
    priority: int
    owner: str | None
    options: str | None
    suspect: bool  # it was running when its process died: it must run alone
    crashes: int  # while alone
    created_at: datetime
    due_at: datetime
    probe: bool = False  # it was let through to try a half-open breaker


class Held(NamedTuple):
    """A job found in the hand of a worker that is gone."""

    id: str
    task: str
    queue: str
    attempt: int
    max_attempts: int
    rescues: int
    started: bool
    cancel_requested: bool
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything known of a job, at the moment it was read."""

    id: str
    queue: str
    task: str
    lane: str
    state: State
    args_json: str
    key: str
    unique: bool
    priority: Priority
    attempt: int
    max_attempts: int
    created_at: datetime
    due_at: datetime
    owner: str | None = None
    options_json: str | None = None
    expires_at: datetime | None = None
    started_at: datetime | None = None  # the first start
    claimed_at: datetime | None = None  # the latest
    finished_at: datetime | None = None
    worker: str | None = None
    progress: dict[str, Any] | None = None  # {"percent": 40, "message": "rendering"}
    result_json: str | None = None
    note: str | None = None  # why it is parked, was cancelled, ended as it did
    errors: list[dict[str, Any]] = field(default_factory=list)
    ran_for: float = 0.0  # seconds, over all attempts
    suspect: bool = False
    crashes: int = 0
    rescues: int = 0
    cancel_requested: bool = False
    parked: bool = False
    recovered_from: str | None = None
    recovered_as: str | None = None
    after: tuple[str, ...] = ()  # the jobs it was to wait for
    blocked_by: tuple[str, ...] = ()  # those of them it still waits for
    deadline_at: datetime | None = None  # until when it may stay blocked
    flow: str | None = None  # the id of its flow
    origin: str | None = None

    @property
    def args(self) -> dict[str, Any]:
        args: dict[str, Any] = loads(self.args_json)
        return args

    @property
    def result(self) -> Any:
        return None if self.result_json is None else loads(self.result_json)

    @property
    def tags(self) -> tuple[str, ...]:
        """The words that it was enqueued with, for people to find it by."""
        options = readable(self.options_json) if self.options_json else None
        found = options.get("tags") if isinstance(options, dict) else None
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def status(self) -> Status:
        """The outside word: pending, processing, completed, failed or cancelled."""
        return status_of(self.state, started=self.started_at is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """The record of a final failure: the job as it was, what went wrong, and what became of it."""

    job_id: str
    queue: str
    task: str
    args_json: str
    key: str
    unique: bool
    priority: Priority
    max_attempts: int
    owner: str | None
    options_json: str | None
    reason: str  # exhausted, unrecoverable, crash-loop, invalid-arguments …
    error: dict[str, Any] | None  # the last error: type, message, code, class, traceback, causes
    attempts: int
    first_started_at: datetime | None
    ran_for: float
    failed_at: datetime
    recovered_at: datetime | None = None
    recovered_as: str | None = None

    @property
    def args(self) -> dict[str, Any]:
        args: dict[str, Any] = loads(self.args_json)
        return args
