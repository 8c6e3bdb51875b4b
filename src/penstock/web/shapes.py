"""What goes in and out over HTTP."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from penstock.engine import Order
from penstock.model.access import Scope
from penstock.model.errors import MAX_SECONDS
from penstock.model.names import MAX_TEXT
from penstock.model.states import State, Status

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def storable(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("holds a character that cannot be stored")
    return text


def _written_out(given: object) -> object:
    """As RFC 3339 has it: a mere number would be read as one of seconds."""
    if not isinstance(given, str) or not _DATE.match(given):
        raise ValueError("is not written as 2026-01-31T12:00:00Z")
    return given


def _within_reach(at: datetime) -> datetime:
    """There are no jobs beyond: what is asked means the same."""
    return min(max(at, _EARLIEST), _LATEST)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$")]
NO_NUL = r"^[^\x00]*$"  # so that the OpenAPI document says so, too
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NO_NUL), AfterValidator(storable)]
Words = Annotated[str, Field(max_length=500, pattern=NO_NUL), AfterValidator(storable)]
Instant = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_within_reach)]
Count = Annotated[int, Field(ge=0)]


class Said(BaseModel):
    """What comes in: nothing but what is known."""

    model_config = ConfigDict(extra="forbid")


# -- refusals ----------------------------------------------------------------------------------------------
class WrongField(BaseModel):
    field: str
    problem: str


class Problem(BaseModel):
    code: str
    message: str
    fields: list[WrongField]


class Refused(BaseModel):
    """The shape of every error."""

    error: Problem


# -- jobs --------------------------------------------------------------------------------------------------
class NewJob(Said):
    """A job to enqueue: `task`, or `job_type`, which is the same."""

    task: Name | None = None
    job_type: Name | None = None
    payload: dict[str, Any] = {}
    key: Text | None = None  # as the header Idempotency-Key
    delay: Annotated[float, Field(ge=0, le=MAX_SECONDS)] | None = None  # seconds
    priority: Literal["critical", "high", "medium", "low"] | None = None
    owner: Text | None = None  # for those who see the jobs of all
    tags: Annotated[list[Name], Field(max_length=10)] | None = None  # words to find it by


class Accepted(BaseModel):
    job_id: str
    status: Status
    duplicate: bool  # the key was taken: this is the job that holds it
    follow: str | None = None  # a token for `GET /jobs/{job_id}/events`, for an hour


class JobView(BaseModel):
    """A job as the outside may know it; `payload` and `result` only for those who may see them."""

    job_id: str
    queue: str
    task: str
    status: Status
    state: State | None  # None: its own record is pruned, and this is what the history has
    attempts_made: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    next_attempt_at: datetime | None
    progress: dict[str, Any] | None
    error: str | None
    owner: str | None
    key: str | None
    tags: list[str] = []
    result: Any = None
    payload: Any = None


class JobPage(BaseModel):
    jobs: list[JobView]
    next: str | None  # give it as `after`; None: that was all


class Why(Said):
    """Why an operator does something: kept in the audit log."""

    reason: Words | None = None


class CancelledView(BaseModel):
    job_id: str
    status: Literal["cancelled", "stopping"]  # stopping: its worker was asked to stop it


class PromotedView(BaseModel):
    job_id: str
    state: State
    due_at: datetime


class RetriedView(BaseModel):
    job_id: str
    how: Literal["due now", "recovered", "recovered already"]


# -- dead letters ------------------------------------------------------------------------------------------
class DeadView(BaseModel):
    """A dead letter; `payload` and `traceback` only for those who may see them."""

    job_id: str
    queue: str
    task: str
    reason: str
    error: str | None
    code: str | None
    attempts: int
    max_attempts: int
    first_started_at: datetime | None
    ran_for: float  # seconds, over all attempts
    failed_at: datetime
    recovered_at: datetime | None
    recovered_as: str | None
    owner: str | None
    key: str | None
    payload: Any = None
    traceback: str | None = None


class DeadPage(BaseModel):
    dead_letters: list[DeadView]
    next: str | None


class DeadCount(BaseModel):
    """How many match, and the word that confirms that these are meant."""

    count: Count
    confirm: str


class Recover(Why):
    """Recover one dead letter, with other arguments where `payload` is given."""

    payload: dict[str, Any] | None = None


class Bulk(Why):
    """Which dead letters, how many those are exactly, and the word that GET /dead-letters/count gave."""

    queue: Name | None = None
    task: Name | None = None
    failed_as: Text | None = None
    since: Instant | None = None
    until: Instant | None = None
    cause: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None
    count: Count
    confirm: Annotated[str, Field(max_length=64)]


class BulkRecover(Bulk):
    rate: Annotated[float, Field(gt=0, le=100_000)] = 50.0  # jobs per second


class RecoveredView(BaseModel):
    job_id: str
    already: bool  # it had been recovered before, as this job


class BulkRecovered(BaseModel):
    recovered: Count
    job_ids: list[str]


class Purged(BaseModel):
    purged: Count


# -- queues, workers, breakers -----------------------------------------------------------------------------
class QueueView(BaseModel):
    name: str
    declared: bool
    paused: bool
    counts: dict[State, int]
    parked: Count
    concurrency: int | None  # at once in each worker; None: as many as it has slots
    max_active: int | None  # over all workers
    rate: str | None  # as it was declared
    rate_key: str | None  # for each of these keys by itself
    workers: Count  # alive, that claim from it


class Queues(BaseModel):
    queues: list[QueueView]


class PausedView(BaseModel):
    name: str
    paused: bool


class RunningView(BaseModel):
    """A job that a worker runs."""

    job_id: str
    task: str
    queue: str
    since: datetime | None
    progress: dict[str, Any] | None


class WorkerView(BaseModel):
    id: str
    name: str
    queues: list[str]
    slots: int
    active: int
    alive: bool
    started_at: datetime | None
    expires_at: datetime | None
    order: Order | None  # what a person has told it to do
    memory: int | None  # bytes
    running: list[RunningView]  # of the latest 200 jobs that run anywhere, the longest first


class TakenBackView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    job_id: str
    task: str
    state: State  # that it was put into


class LostView(BaseModel):
    """A worker that was lost in the last hour, and what was taken back from it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str | None  # None: only its heartbeat was missed
    at: datetime
    why: str
    rescued: Count
    jobs: list[TakenBackView]  # the first of them


class Workers(BaseModel):
    workers: list[WorkerView]
    lost: list[LostView]


class OrderedView(BaseModel):
    id: str
    name: str
    order: Order | None


class BreakerView(BaseModel):
    name: str
    state: Literal["closed", "open", "half-open"]
    since: datetime | None
    failures: Count
    runs: Count
    probing: Count
    retry_in: float | None
    threshold: int
    reset: float
    probes: int
    failure_rate: float | None


class Breakers(BaseModel):
    breakers: list[BreakerView]


class BreakerSet(BaseModel):
    name: str
    state: Literal["closed", "open"]


# -- schedules ---------------------------------------------------------------------------------------------
class ScheduleView(BaseModel):
    id: str
    task: str | None  # None: what is stored of it cannot be read
    queue: str | None
    cron: str | None
    every: float | None  # seconds
    tz: str | None
    paused: bool
    synced: bool  # False: it comes with the first worker
    next_at: datetime | None
    last_due: datetime | None
    last_job: str | None
    overlap: str | None
    missed: str | None
    after: list[str]


class Schedules(BaseModel):
    schedules: list[ScheduleView]


class RunView(BaseModel):
    at: datetime
    there: datetime  # in the schedule's zone
    note: str | None


class TickView(BaseModel):
    due: datetime
    fired_at: datetime
    job_id: str | None
    note: str | None
    state: State | None  # of its job; None: there is no record of one


class ScheduleDetail(ScheduleView):
    runs: list[RunView]
    ticks: list[TickView]


class Fired(BaseModel):
    job_id: str


# -- flows, tasks, audit -----------------------------------------------------------------------------------
class FlowView(BaseModel):
    id: str
    name: str
    created_at: datetime
    unfinished: Count


class FlowPage(BaseModel):
    flows: list[FlowView]
    next: str | None


class FlowJobView(JobView):
    """A job of a flow, and those it waits for."""

    after: list[str]
    blocked_by: list[str]


class FlowDetail(FlowView):
    jobs: list[FlowJobView]


class FlowCancelledView(BaseModel):
    flow_id: str
    cancelled: Count
    stopping: Count


class TaskView(BaseModel):
    name: str
    queue: str
    description: str | None
    priority: str
    timeout: float | None
    retry: str
    concurrency: int | None
    limit: str | None
    needs: str | None
    on: str | None
    execute: str
    key: str | None
    unique: str | None
    enabled: bool
    secret: list[str]  # arguments that are not shown
    searchable: list[str]  # arguments by which GET /jobs finds its jobs, as args.NAME
    payload: dict[str, Any]  # the JSON schema of its arguments


class Tasks(BaseModel):
    tasks: list[TaskView]


class DeedView(BaseModel):
    """One thing that somebody did."""

    id: str
    at: datetime
    who: str
    via: str
    action: str
    target: str
    why: str | None
    outcome: str
    before: dict[str, Any]
    after: dict[str, Any]


class AuditPage(BaseModel):
    entries: list[DeedView]
    next: str | None


class Heard(BaseModel):
    accepted: Count  # jobs that the event has made


# -- people in a browser -----------------------------------------------------------------------------------
class SessionView(BaseModel):
    """Who asks, and what they may do; `proof` goes with every change, in the header X-Penstock-Proof."""

    name: str
    owner: str | None
    scopes: list[Scope]
    engine: str
    proof: str | None


# -- what operators see of a job ---------------------------------------------------------------------------
class CauseView(BaseModel):
    because: str
    text: str
    next: str | None
    until: datetime | None
    jobs: list[str]


class ExplanationView(BaseModel):
    """Why a job does not run, or how it ended; the first cause is the decisive one."""

    job_id: str
    task: str
    queue: str
    state: str
    at: datetime
    causes: list[CauseView]


class EffectView(BaseModel):
    """Something that was done once for the key of a job: `ctx.once`."""

    name: str
    job_id: str  # of the job that did it
    first_at: datetime
    expires_at: datetime


class LogLineView(BaseModel):
    at: datetime
    level: str
    text: str


class LoggedView(BaseModel):
    """What one attempt has logged by `ctx.log`: its latest lines."""

    attempt: int
    lines: list[LogLineView]


class StoryView(BaseModel):
    errors: list[dict[str, Any]]
    steps: dict[str, Any]
    effects: list[EffectView]
    logs: list[LoggedView]
    worker: str | None
    origin: str | None
    note: str | None
    flow: str | None
    after: list[str]
    blocked_by: list[str]
    recovered_from: str | None
    recovered_as: str | None
    claimed_at: datetime | None  # the latest start
    expires_at: datetime | None
    deadline_at: datetime | None  # until when it may wait for others
    priority: str
    dead_letter: bool  # it has one that can be recovered, or was
    ran_for: float
    rescues: int


# -- health ------------------------------------------------------------------------------------------------
class Probe(BaseModel):
    status: Literal["ok", "unavailable"]


class EngineHealthView(BaseModel):
    status: Literal["ok", "unreachable"]
    error: str | None
    answered_in: float | None


class QueueHealthView(BaseModel):
    status: Literal["ok", "backlogged", "stalled"]
    waiting: Count
    active: Count
    error_rate: float
    delayed: Count
    parked: Count
    paused: bool
    oldest_age: float | None


class WorkerHealthView(BaseModel):
    status: Literal["running", "paused", "down"]
    concurrency: Count
    processing: Count
    queues: list[str]


class ProblemView(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    text: str
    next: str | None  # the command to type


class HealthView(BaseModel):
    """How all is; the worst wins."""

    status: Literal["healthy", "degraded", "unhealthy"]
    engine: EngineHealthView
    queues: dict[str, QueueHealthView]
    workers: dict[str, WorkerHealthView]
    dlq_size: Count
    problems: list[ProblemView]
    last_check: datetime


# -- metrics -----------------------------------------------------------------------------------------------
class CountedView(BaseModel):
    """What workers have counted in a time."""

    model_config = ConfigDict(from_attributes=True)

    throughput_per_minute: float
    error_rate: float
    avg_processing_time_ms: float
    p50_processing_time_ms: float
    p95_processing_time_ms: float
    p99_processing_time_ms: float
    avg_wait_time_ms: float
    p50_wait_time_ms: float
    p95_wait_time_ms: float
    p99_wait_time_ms: float
    retries: float
    dead_letters: float
    rescued: float
    lost_leases: float
    timed_out: float
    expired: float
    missed_deadlines: float


class QueueStatsView(CountedView):
    queue: str
    waiting: Count
    active: Count
    completed: Count
    failed: Count
    delayed: Count
    blocked: Count
    cancelled: Count
    paused: bool
    oldest_waiting_s: float


class TaskStatsView(CountedView):
    queue: str
    task: str


class PointView(CountedView):
    at: datetime


class SeriesView(BaseModel):
    points: list[PointView]


class StatsView(BaseModel):
    """Everything at one moment."""

    model_config = ConfigDict(from_attributes=True)

    timestamp: datetime
    window_s: float
    queues: list[QueueStatsView]
    tasks: list[TaskStatsView]
    dlq_size: Count
    worker_count: Count
    relay_lag_s: float | None
    schedule_lateness_s: float


# -- limits and alerts -------------------------------------------------------------------------------------
class BoundView(BaseModel):
    said: str  # the rate as it was declared
    rate: float | None  # starts per second
    burst: int
    concurrency: int | None


class LimitView(BaseModel):
    name: str  # of a queue, of a task in it, or of the keys of either
    limit: BoundView
    per_key: BoundView
    needs: list[str]
    active: Count
    cooled_for: float | None


class Limits(BaseModel):
    limits: list[LimitView]


class LaneView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    lane: str
    waiting: Count
    active: Count
    opens_in: float | None


class Lanes(BaseModel):
    keys: list[LaneView]
    next: str | None


class AlertView(BaseModel):
    """An alert that is not over."""

    model_config = ConfigDict(from_attributes=True)

    rule: str
    subject: str
    severity: str
    message: str
    phase: str
    since: datetime
    fired_at: datetime | None
    told: list[str]


class ChannelView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    told_at: datetime | None
    failed_at: datetime | None
    problem: str | None


class Alerts(BaseModel):
    alerts: list[AlertView]
    channels: list[ChannelView]


class AlertEntryView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    at: datetime
    event: str
    rule: str
    subject: str
    severity: str
    message: str


class AlertEntries(BaseModel):
    entries: list[AlertEntryView]
