"""What should be in an engine: a model in plain Python, and how the two are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hypothesis.stateful import RuleBasedStateMachine, invariant

from conformance.kit import Place, make_id
from conformance.machine.modelled import Modelled, seen
from penstock.engine import JobFilter
from penstock.model.clock import FakeClock
from penstock.model.job import Claim, NewJob, Ties
from penstock.model.outcome import Cancelled, Outcome
from penstock.model.states import State, may_become

QUEUES = ("a", "b")
TTL = 30.5  # never equal to a sum of the steps of the clock


class Hold(NamedTuple):
    """Who holds a key, and until when at least."""

    id: str
    until: datetime | None = None  # of a period


def pick(some: list[Any], nth: int) -> Any:
    return some[-1 - nth % len(some)]


def delay_of(new: NewJob) -> float:
    """Seconds until it is due: a debounced job waits for its window too."""
    return new.delay + (new.window.seconds if new.window.kind == "debounce" else 0.0)


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
        self.keys: dict[tuple[str, str], Hold] = {}
        self.alive_until: dict[str, datetime] = {}
        self.paused: set[str] = set()
        self.flows: dict[str, list[str]] = {}  # the members, in the order in which they came
        self.steps = 0
        self.leases: dict[str, tuple[Claim, str, str]] = {}  # by token, from the beginning of time
        self.ever = [make_id()]  # every job there was, and one that never was
        self.dead: dict[str, Modelled] = {}  # not recovered
        self.history: set[str] = set()  # of whom only the history tells

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
        if state is not State.ACTIVE:
            job.token = job.worker = job.request = None
        if state is State.ACTIVE:
            job.begun = True
            self.let_go(job, "started", "debounce")
        if state.finished:
            job.finished_at = self.clock.now()
            self.let_go(job, "started", "debounce", "unfinished")
            self.tell_those_who_wait(job)

    def forget(self, job: Modelled) -> None:
        """Its record is gone, and its key with it, but for a period's rest."""
        del self.model[job.id]
        job.steps.clear()
        self.let_go(job, "record")
        if self.place.remembers:
            self.history.add(job.id)

    def add(self, new: NewJob, verb: str = "enqueue") -> Modelled:
        due = self.clock.now() + timedelta(seconds=delay_of(new))
        expires = None if new.expire_after is None else due + timedelta(seconds=new.expire_after)
        job = Modelled(new.id, new.queue, new.key, new.unique, new.priority, new.max_attempts, due, expires)
        job.window = new.window
        self.model[job.id] = job
        self.ever.append(job.id)
        if job.unique and self.holder(job.queue, job.key) is None:
            self.hold(job)
        if new.ties is not None:
            self.tie(job, new.ties)
        if job.state is None:
            self.move(job, verb, State.DELAYED if delay_of(new) else State.WAITING)
        return job

    # -- keys --------------------------------------------------------------------------------------------

    def hold(self, job: Modelled) -> None:
        seconds = job.window.seconds if job.window.kind == "period" else 0.0
        self.keys[job.queue, job.key] = Hold(job.id, self.clock.now() + timedelta(seconds=seconds))

    def holder(self, queue: str, key: str) -> str | None:
        """Who holds a key; a period that is over is forgotten."""
        held = self.keys.get((queue, key))
        if held is None:
            return None
        job = self.model.get(held.id)
        over = held.until <= self.clock.now()
        if over and (job is None or (job.window.kind == "period" and job.state.finished)):
            del self.keys[queue, key]
            return None
        return held.id

    def let_go(self, job: Modelled, *kinds: str) -> None:
        """Where it holds its key by such a window, it does no more."""
        held = self.keys.get((job.queue, job.key))
        if job.window.kind in kinds and held is not None and held.id == job.id:
            del self.keys[job.queue, job.key]

    def replace(self, job: Modelled, newcomer: NewJob) -> None:
        """What a newcomer does to a debounced job that has not begun."""
        if job.window.kind != "debounce" or job.begun:
            return
        due = self.clock.now() + timedelta(seconds=delay_of(newcomer))
        if job.expires is not None:
            job.expires += due - job.due_at
        job.due_at, job.priority = due, newcomer.priority
        if job.state is not State.BLOCKED:
            self.move(job, "reschedule", State.DELAYED if delay_of(newcomer) else State.WAITING)

    def end(self, job: Modelled, outcome: Outcome, verb: str | None = None, keep: bool = True) -> None:
        """What an accepted outcome does to an active job."""
        job.attempt -= outcome.refund
        job.errors += outcome.error is not None
        job.suspect |= outcome.suspect
        job.crashes += outcome.crashed
        job.rescues += outcome.rescued
        if job.suspect or not outcome.keep_place:
            job.expires = None
        if job.cancel_requested and not outcome.state.finished:
            outcome, verb = Cancelled(), verb and "rescue"
        job.misfit = outcome.park.misfit if outcome.park else None
        if not outcome.state.finished and not outcome.keep_place:
            job.due_at = self.clock.now() + timedelta(seconds=outcome.delay)
        self.move(job, verb or outcome.verb, outcome.state)
        if outcome.state is State.FAILED:
            self.dead[job.id] = job
        if outcome.state is State.COMPLETED and not keep and job.flow is None:
            self.forget(job)

    # -- ties --------------------------------------------------------------------------------------------

    def tie(self, job: Modelled, ties: Ties) -> None:
        """Block it, where it has edges that are not resolved yet."""
        job.flow = ties.flow and ties.flow.id
        if ties.flow is not None:
            self.flows.setdefault(ties.flow.id, []).append(job.id)
        if not ties.after:
            return
        self.move(job, "enqueue", State.BLOCKED)
        job.edges, job.tied = {edge.id: edge.on_failure for edge in ties.after}, True
        if ties.deadline is not None:
            job.deadline = self.clock.now() + timedelta(seconds=ties.deadline)
            job.at_deadline = ties.at_deadline
        for upstream in ties.after:
            found = self.model.get(upstream.id)
            if found is not None and found.state.finished and job.state is State.BLOCKED:
                self.resolve(job, found)

    def tell_those_who_wait(self, ended: Modelled) -> None:
        for job in list(self.model.values()):  # one may end because another of them did
            if job.state is State.BLOCKED and ended.id in job.edges:
                self.resolve(job, ended)

    def resolve(self, job: Modelled, ended: Modelled) -> None:
        rule = "ignore" if ended.state is State.COMPLETED else job.edges[ended.id]
        match rule:
            case "fail":
                self.move(job, "resolve", State.CANCELLED)
            case "ignore":
                del job.edges[ended.id]
            case "continue":
                job.edges.clear()
        if job.state is State.BLOCKED and not job.edges:
            self.free(job, "resolve")

    def free(self, job: Modelled, verb: str) -> None:
        late = max(self.clock.now() - job.due_at, timedelta())
        job.due_at += late
        job.expires = job.expires and job.expires + late
        self.move(job, verb, State.WAITING if job.due_at <= self.clock.now() else State.DELAYED)

    def pinned(self, job: Modelled) -> bool:
        members = self.flows.get(job.flow or "", [])
        return any(m in self.model and not self.model[m].state.finished for m in members)

    # -- workers -----------------------------------------------------------------------------------------

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
            self.flows_show_their_members()

    def flows_show_their_members(self) -> None:
        for flow, members in self.flows.items():
            left = [m for m in members if m in self.model]
            found = self.run(self.engine.flow(flow))
            assert found is not None or not left
            assert ([j.id for j in found.jobs] if found else []) == left
            unfinished = sum(not self.model[m].state.finished for m in left)
            assert (found.unfinished if found else 0) == unfinished

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
    def attempts_stay_in_bounds_and_a_job_holds_one_key(self) -> None:
        assert all(job.attempt >= 0 for job in self.model.values())
        holders = [held.id for held in self.keys.values()]
        assert len(set(holders)) == len(holders)
