"""What should be in an engine: a model in plain Python, and how the two are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant

from conformance.kit import Place, make_id
from penstock.engine import JobFilter
from penstock.model.clock import FakeClock
from penstock.model.job import Claim, Job, NewJob
from penstock.model.outcome import Cancelled, Outcome
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State, may_become

QUEUES = ("a", "b")
TTL = 30.5  # never equal to a sum of the steps of the clock


@dataclass
class Modelled:
    """What the model knows of one job."""

    id: str
    queue: str
    key: str
    unique: bool
    priority: int
    max_attempts: int
    due_at: datetime
    expires: datetime | None
    state: State | None = None
    attempt: int = 0
    errors: int = 0
    suspect: bool = False
    crashes: int = 0
    rescues: int = 0
    cancel_requested: bool = False
    misfit: str | None = None
    token: str | None = None
    worker: str | None = None
    request: str | None = None
    finished_at: datetime | None = None
    ended_by: set[str] = field(default_factory=set)
    recovered_as: str | None = None
    recovered_from: str | None = None

    @property
    def rank(self) -> tuple[datetime, str]:
        return self.due_at - timedelta(seconds=HEAD_START[Priority(self.priority)]), self.id

    @property
    def parked(self) -> bool:
        return self.misfit is not None and self.state is State.WAITING


REPORTED = (
    "state", "queue", "attempt", "max_attempts", "suspect", "crashes", "rescues", "parked", "due_at", "key",
    "unique", "finished_at", "recovered_from", "recovered_as",
)  # fmt: skip


def seen(job: Job | Modelled) -> dict[str, Any]:
    """What the engine reports of a job, and the model knows of it."""
    errors = job.errors if isinstance(job, Modelled) else len(job.errors)
    running = (job.worker, job.cancel_requested) if job.state is State.ACTIVE else None
    return {name: getattr(job, name) for name in REPORTED} | {"errors": errors, "running": running}


def pick(some: list[Any], nth: int) -> Any:
    return some[-1 - nth % len(some)]


class Model(RuleBasedStateMachine):
    """One storage, its engine, and what should be in it: compared after every step."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.place = place
        self.runner = asyncio.Runner()
        self.engine = place.engine(self.clock)
        self.run(self.engine.migrate())
        self.run(self.engine.open())
        self.model: dict[str, Modelled] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.alive_until: dict[str, datetime] = {}
        self.paused: set[str] = set()
        self.steps = 0
        self.leases: dict[str, tuple[Claim, str, str]] = {}  # by token, from the beginning of time
        self.ever = [make_id()]  # every job there was, and one that never was
        self.dead: dict[str, Modelled] = {}  # not recovered

    def pick_job(self, nth: int, *states: State) -> str:
        """A job in one of these states, else any there ever was, else one that never was."""
        fit = [j.id for j in self.model.values() if j.state in states]
        return pick(fit or self.ever, nth)

    def pick_worker(self, nth: int) -> str:
        return pick(list(self.alive_until), nth)

    def run(self, call: Any) -> Any:
        return self.runner.run(call)

    def teardown(self) -> None:
        try:
            self.counts_equal_the_rows()
            self.parked_lanes_are_counted()
        finally:
            self.run(self.engine.close())
            self.runner.close()

    # -- the model's own verbs -------------------------------------------------------------------------

    def move(self, job: Modelled, verb: str, state: State) -> None:
        """The only way a modelled job changes its state: by the table."""
        assert state in may_become(job.state, verb), f"{job.state} may not {verb} to {state}"
        job.state = state
        if state.finished:
            job.finished_at = self.clock.now()
        if state is not State.ACTIVE:
            job.token = job.worker = job.request = None

    def forget(self, job: Modelled) -> None:
        """Its record is gone, and its key with it."""
        del self.model[job.id]
        if self.keys.get((job.queue, job.key)) == job.id:
            del self.keys[job.queue, job.key]

    def add(self, new: NewJob, verb: str = "enqueue") -> Modelled:
        due = self.clock.now() + timedelta(seconds=new.delay)
        expires = None if new.expire_after is None else due + timedelta(seconds=new.expire_after)
        job = Modelled(new.id, new.queue, new.key, new.unique, new.priority, new.max_attempts, due, expires)
        self.move(job, verb, State.DELAYED if new.delay else State.WAITING)
        self.model[job.id] = job
        self.ever.append(job.id)
        return job

    def end(self, job: Modelled, outcome: Outcome, verb: str | None = None, keep: bool = True) -> None:
        """What an accepted outcome does to an active job."""
        job.attempt -= outcome.refund
        job.errors += outcome.error is not None
        job.suspect |= outcome.suspect
        job.crashes += outcome.crashed
        job.rescues += outcome.rescued
        if job.cancel_requested and not outcome.state.finished:
            outcome, verb = Cancelled(), verb and "rescue"
        job.misfit = outcome.park.misfit if outcome.park else None
        if not outcome.state.finished and not outcome.keep_place:
            job.due_at = self.clock.now() + timedelta(seconds=outcome.delay)
        self.move(job, verb or outcome.verb, outcome.state)
        if outcome.state is State.FAILED:
            self.dead[job.id] = job
        if outcome.state is State.COMPLETED and not keep:
            self.forget(job)

    def is_alive(self, worker: str) -> bool:
        return self.alive_until.get(worker, self.clock.now()) > self.clock.now()

    def active(self, worker: str, request: str | None = None) -> list[Modelled]:
        return [
            j for j in self.model.values()
            if j.state is State.ACTIVE and j.worker == worker and request in (None, j.request)
        ]  # fmt: skip

    def observed(self, jobs: Iterable[Modelled], state: State | None) -> list[Modelled]:
        """Where the contract leaves a choice, what the engine chose."""
        found = {j.id: j.state for j in self.run(self.engine.jobs(JobFilter(), 1_000))}
        return [j for j in jobs if found.get(j.id) is state]

    # -- what holds after every step ----------------------------------------------------------------------

    @invariant()
    def the_engine_reports_what_the_model_knows(self) -> None:
        found = {job.id: seen(job) for job in self.run(self.engine.jobs(JobFilter(), 1_000))}
        known = {job.id: seen(job) for job in self.model.values()}
        assert found.keys() == known.keys()
        for job_id, job in known.items():
            assert found[job_id] == job

    @invariant()
    def what_is_counted_is_there(self) -> None:
        """Now and then, and at the end: it costs more than a step does."""
        self.steps += 1
        if self.steps % 4 == 0:
            self.counts_equal_the_rows()
            self.parked_lanes_are_counted()

    def counts_equal_the_rows(self) -> None:
        counted = {
            (q.queue, state): n for q in self.run(self.engine.queues()) for state, n in q.counts.items() if n
        }
        rows: dict[tuple[str, State], int] = {}
        for job in self.model.values():
            rows[job.queue, job.state] = rows.get((job.queue, job.state), 0) + 1
        assert counted == rows
        assert self.run(self.engine.dead_count()) == len(self.dead)

    def parked_lanes_are_counted(self) -> None:
        waiting: dict[str, int] = {}
        for job in self.model.values():
            if job.misfit is not None and job.state is State.WAITING:
                waiting[job.queue] = waiting.get(job.queue, 0) + 1
        assert {p.queue: p.jobs for p in self.run(self.engine.parked())} == waiting

    @invariant()
    def attempts_stay_in_bounds_and_keys_name_a_record(self) -> None:
        assert all(job.attempt >= 0 for job in self.model.values())
        assert all(holder in self.model for holder in self.keys.values())
        assert len(set(self.keys.values())) == len(self.keys)
