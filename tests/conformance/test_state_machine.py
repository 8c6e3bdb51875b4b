"""Random lives of jobs: a model in plain Python beside each engine, compared after every step.

Nothing is forgotten: workers that were given up go on claiming, and tokens long lost go on settling.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from conformance.kit import (
    SIGNATURE,
    TASK,
    Place,
    end,
    failed,
    gone,
    make_id,
    new,
    parked,
    register,
    retried,
    snoozed,
    want,
)
from conftest import REDIS_KINDS, make_place
from penstock.engine import JobFilter, Recovery, Retention
from penstock.model.clock import FakeClock
from penstock.model.errors import WorkerExpired
from penstock.model.job import Claim, Job, NewJob
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Released
from penstock.model.priority import HEAD_START, Priority
from penstock.model.states import State, may_become

QUEUES = ("a", "b")
OUTCOMES = [
    COMPLETED,
    retried(),
    retried(5),
    snoozed(),
    snoozed(5),
    Released(),
    Released("crashed", None, suspect=True, crashed=True),
    Cancelled("stopped"),
    failed(),
    Failed("crash-loop", None, crashed=True),
    parked(misfit=SIGNATURE),
]
HOUSEWORK = (
    "beat", "beat", "rescue_worker", "release", "progress", "prune", "prune_one", "tidy", "close", "crash",
    "pause", "resume", "resume",
)  # fmt: skip
TTL = 30.5  # never equal to a sum of the steps of the clock
RARELY = st.sampled_from([False, False, False, True])


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


class Life(RuleBasedStateMachine):
    """One storage, its engine, and what should be in it."""

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

    # -- in ---------------------------------------------------------------------------------------------

    @rule(
        specs=st.lists(
            st.fixed_dictionaries(
                {
                    "queue": st.sampled_from(QUEUES),
                    "key": st.sampled_from([None, None, "k1", "k2"]),
                    "priority": st.sampled_from([1, 3, 3, 4]),
                    "delay": st.sampled_from([0, 0, 0, 5, 60]),
                    "max_attempts": st.sampled_from([1, 3]),
                    "expire_after": st.sampled_from([None, None, 40.5]),
                }
            ),
            min_size=1,
            max_size=4,
        ),
        reply_lost=RARELY,
    )
    def enqueue(self, specs: list[dict[str, Any]], reply_lost: bool) -> None:
        batch = [new(**spec) for spec in specs]
        answers = self.run(self.engine.enqueue(batch))
        if reply_lost:
            assert self.run(self.engine.enqueue(batch, again=True)) == answers
        for job, answer in zip(batch, answers, strict=True):
            holder = self.keys.get((job.queue, job.key)) if job.unique else None
            if holder is None:
                made = self.add(job)
                if job.unique:
                    self.keys[job.queue, job.key] = job.id
                assert answer == (job.id, made.state, False)
            else:
                assert answer == (holder, self.model[holder].state, True)

    # -- run --------------------------------------------------------------------------------------------

    @initialize(count=st.integers(1, 4))
    def begin(self, count: int) -> None:
        self.start_worker()
        self.enqueue([{"queue": "a", "key": ["k1", None][n % 2]} for n in range(count)], False)

    def start_worker(self) -> str:
        worker = make_id()
        self.run(register(self.engine, worker, TTL))
        self.alive_until[worker] = self.clock.now() + timedelta(seconds=TTL)
        return worker

    def beat(self, worker: str) -> None:
        orders = self.run(self.engine.beat(worker, TTL))
        assert orders.given_up is not self.is_alive(worker)
        if orders.given_up:
            return
        self.alive_until[worker] = self.clock.now() + timedelta(seconds=TTL)
        asked = {(j.id, j.token) for j in self.active(worker) if j.cancel_requested}
        assert set(orders.cancel) == asked
        assert orders.paused & set(QUEUES) == self.paused

    @rule(
        nth=st.integers(0, 3),
        per_queue=st.dictionaries(st.sampled_from(QUEUES), st.integers(0, 3), min_size=1),
        limit=st.integers(0, 5),
        signature=st.sampled_from([SIGNATURE, "v2"]),
        reply_lost=RARELY,
    )
    def claim_some(
        self, nth: int, per_queue: dict[str, int], limit: int, signature: str, reply_lost: bool
    ) -> None:
        """Some of these workers live, some were given up long ago."""
        self.claim(self.pick_worker(nth), per_queue, limit, signature, reply_lost)

    @rule(
        signature=st.sampled_from([SIGNATURE, SIGNATURE, "v2"]),
        outcomes=st.lists(st.sampled_from(OUTCOMES), max_size=4),
    )
    def live_on(self, signature: str, outcomes: list[Outcome]) -> None:
        """A worker that surely lives takes what it can, and the first jobs it holds end."""
        worker = self.start_worker()
        self.claim(worker, dict.fromkeys(QUEUES, 9), 9, signature, False)
        for job, outcome in zip(self.active(worker), outcomes, strict=False):
            self.settle([self.leases[job.token]], outcome, True, False, None)

    def claim(
        self, worker: str, per_queue: dict[str, int], limit: int, signature: str, reply_lost: bool
    ) -> None:
        asked = want(worker=worker, per_queue=per_queue, limit=limit, tasks={TASK: signature})
        try:
            claims = self.run(self.engine.claim(asked))
        except WorkerExpired:
            assert not self.is_alive(worker)
            return
        assert self.is_alive(worker)
        self.take(claims, worker, asked.request, per_queue, limit, signature)
        if reply_lost:
            self.release(worker, asked.request)

    def take(
        self,
        claims: list[Claim],
        worker: str,
        request: str,
        per_queue: dict[str, int],
        limit: int,
        signature: str,
    ) -> None:
        """What was claimed must be what the model would give: as many, first in rank, lane by lane."""
        lanes: dict[tuple[str, str | None], list[Modelled]] = {}
        for job in sorted(self.model.values(), key=lambda j: j.rank):
            open_to = job.misfit != signature and (job.expires is None or job.expires > self.clock.now())
            if (
                job.state is State.WAITING
                and job.queue in per_queue
                and job.queue not in self.paused
                and open_to
            ):
                lanes.setdefault((job.queue, job.misfit), []).append(job)
        ready = {q: sum(len(jobs) for (queue, _), jobs in lanes.items() if queue == q) for q in per_queue}
        assert len(claims) == min(limit, sum(min(n, ready[q]) for q, n in per_queue.items()))
        taken = [self.model[c.id] for c in claims]
        for (queue, misfit), waiting in lanes.items():
            here = [j.id for j in taken if (j.queue, j.misfit) == (queue, misfit)]
            assert here == [j.id for j in waiting[: len(here)]]
        for queue, most in per_queue.items():
            assert sum(j.queue == queue for j in taken) <= most
        for job, claim in zip(taken, claims, strict=True):
            self.move(job, "claim", State.ACTIVE)
            job.attempt += 1
            assert claim.token not in job.ended_by
            assert (claim.attempt, claim.suspect, claim.crashes) == (job.attempt, job.suspect, job.crashes)
            job.token, job.worker, job.request = claim.token, worker, request
            self.leases[claim.token] = (claim, worker, request)

    @rule(
        nths=st.lists(st.integers(0, 8), min_size=1, max_size=3),
        running=st.booleans(),
        outcome=st.sampled_from(OUTCOMES),
        keep=st.booleans(),
        reply_lost=st.booleans(),
        more=st.none() | st.integers(0, 3),
    )
    def settle_some(
        self, nths: list[int], running: bool, outcome: Outcome, keep: bool, reply_lost: bool, more: int | None
    ) -> None:
        """Some of these hold their job, some lost it long ago."""
        tokens = [j.token for j in self.model.values() if j.state is State.ACTIVE] if running else []
        leases = [self.leases[token] for token in tokens] or list(self.leases.values())
        if leases:
            some = {lease[0].id: lease for lease in (pick(leases, n) for n in nths)}
            worker = None if more is None else self.pick_worker(more)
            self.settle(list(some.values()), outcome, keep, reply_lost, worker)

    def settle(
        self, some: list[Any], outcome: Outcome, keep: bool, reply_lost: bool, more: str | None
    ) -> None:
        ends = [end(claim, outcome, keep=keep) for claim, _, _ in some]
        asked = want(worker=more, per_queue=dict.fromkeys(QUEUES, 1), limit=2) if more else None
        settled = self.run(self.engine.settle(ends, asked))
        for (claim, _, _), accepted in zip(some, settled.accepted, strict=True):
            job = self.model.get(claim.id)
            assert accepted is (job is not None and job.state is State.ACTIVE and job.token == claim.token)
            if accepted:
                job.ended_by.add(claim.token)
                self.end(job, outcome, keep=keep)
        if asked:
            assert settled.expired is not self.is_alive(more)
            if not settled.expired:
                self.take(settled.claims, more, asked.request, dict.fromkeys(QUEUES, 1), 2, SIGNATURE)
        if reply_lost:
            self.settle_again(some, ends, settled.accepted)

    def settle_again(self, some: list[Any], ends: list[Any], before: list[bool]) -> None:
        again = self.run(self.engine.settle(ends, again=True)).accepted
        for (claim, _, _), first, second in zip(some, before, again, strict=True):
            job = self.model.get(claim.id)
            if first and (job is None or job.state is not State.ACTIVE):
                assert second
            if job is not None and claim.token not in job.ended_by:
                assert not second

    def release(self, worker: str, request: str) -> None:
        mine = self.active(worker, request)
        assert self.run(self.engine.release(worker, request)) == len(mine)
        for job in mine:
            self.end(job, Released())

    def progress(self, claim: Claim) -> None:
        job = self.model.get(claim.id)
        mine = job is not None and job.state is State.ACTIVE and job.token == claim.token
        assert self.run(self.engine.progress(claim.id, claim.token, '{"percent":40}')) is mine

    # -- upkeep -----------------------------------------------------------------------------------------

    @rule(
        seconds=st.sampled_from([0, 1, 5, 5, 20, 31, 61]),
        then=st.sampled_from(["stage", "rescue", "nothing"]),
        limit=st.sampled_from([1, 2, 100]),
    )
    def pass_time(self, seconds: int, then: str, limit: int) -> None:
        self.advance(seconds)
        if then != "nothing":
            getattr(self, then)(limit)

    def advance(self, seconds: int) -> None:
        """Time passes; what passed its expiry is swept at once."""
        now = self.clock.advance(seconds)
        past = [
            j for j in self.model.values()
            if j.state in (State.WAITING, State.DELAYED) and j.expires is not None and j.expires <= now
        ]  # fmt: skip
        assert self.run(self.engine.expire(1_000)) == len(past)
        for job in past:
            self.move(job, "expire", State.CANCELLED)

    def stage(self, limit: int) -> None:
        now = self.clock.now()
        delayed = sorted((j for j in self.model.values() if j.state is State.DELAYED), key=lambda j: j.due_at)
        due = [j for j in delayed if j.due_at <= now]
        wait = self.run(self.engine.stage(limit))
        moved = self.observed(due, State.WAITING)
        assert len(moved) == min(limit, len(due))
        for job in moved:
            self.move(job, "stage", State.WAITING)
        left = [j.due_at for j in delayed if j.state is State.DELAYED]
        assert wait == (
            pytest.approx(max(0.0, (min(left) - now).total_seconds()), abs=0.01) if left else None
        )

    def observed(self, jobs: Iterable[Modelled], state: State | None) -> list[Modelled]:
        """Where the contract leaves a choice, what the engine chose."""
        found = {j.id: j.state for j in self.run(self.engine.jobs(JobFilter(), 1_000))}
        return [j for j in jobs if found.get(j.id) is state]

    def rescue(self, limit: int) -> None:
        lost = {w for w in self.alive_until if not self.is_alive(w)}
        orphans = {j.id: j for w in lost for j in self.active(w)}
        rescued = self.run(self.engine.rescue(limit, gone))
        assert len(rescued) == min(limit, len(orphans))
        for job_id, *_, state in rescued:
            self.end(orphans[job_id], gone(None), verb="rescue")
            assert orphans[job_id].state is state

    def rescue_worker(self, worker: str) -> None:
        orphans = {j.id: j for j in self.active(worker)}
        tokens = frozenset(j.token for j in list(orphans.values())[::2])
        rescued = self.run(self.engine.rescue_worker(worker, tokens, gone))
        assert {r.id for r in rescued} == orphans.keys()
        for job in orphans.values():
            self.end(job, gone(None), verb="rescue")
        self.alive_until[worker] = self.clock.now()

    def prune(self, queue: str, keep: int, limit: int) -> None:
        done = [j for j in self.model.values() if j.queue == queue and j.state is State.COMPLETED]
        retention = Retention(queue, keep_completed=keep, keep_failed=None)
        assert self.run(self.engine.prune(retention, limit)) == min(limit, max(0, len(done) - keep))
        removed = self.observed(done, None)
        for job in removed:
            self.forget(job)
        kept = [j.finished_at for j in done if j.id in self.model]
        assert all(job.finished_at <= min(kept) for job in removed if kept)

    # -- operate ----------------------------------------------------------------------------------------

    @rule(
        nths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
        verb=st.sampled_from(["cancel", "cancel", "promote", "delete", "recover", "recover"]),
        running=st.booleans(),
    )
    def operate(self, nths: list[int], verb: str, running: bool) -> None:
        unfinished = (State.ACTIVE,) if running else (State.WAITING, State.DELAYED)
        aims = {
            "cancel": unfinished,
            "promote": (State.DELAYED,),
            "delete": (State.COMPLETED, State.FAILED, State.CANCELLED),
            "recover": (State.FAILED,),
        }
        ids = [self.pick_job(n, *aims[verb]) for n in nths]
        if verb == "cancel":
            self.cancel(ids)
        else:
            getattr(self, verb)(ids[0])

    def cancel(self, ids: list[str]) -> None:
        answers = self.run(self.engine.cancel(ids, "not wanted"))
        for job_id, answer in zip(ids, answers, strict=True):
            job = self.model.get(job_id)
            if job is not None and job.state is State.ACTIVE:
                job.cancel_requested = True
            elif job is not None and not job.state.finished:
                self.move(job, "cancel", State.CANCELLED)
            assert answer is (job and job.state)

    def promote(self, job_id: str) -> None:
        job = self.model.get(job_id)
        delayed = job is not None and job.state is State.DELAYED
        assert self.run(self.engine.promote([job_id])) == delayed
        if delayed:
            self.move(job, "promote", State.WAITING)
            job.due_at = self.clock.now()

    def delete(self, job_id: str) -> None:
        job = self.model.get(job_id)
        finished = job is not None and job.state.finished
        assert self.run(self.engine.delete([job_id])) == finished
        if finished:
            self.forget(job)

    def recover(self, job_id: str) -> None:
        new_id = make_id()
        [answer] = self.run(self.engine.recover([Recovery(job_id, new_id)]))
        assert self.run(self.engine.recover([Recovery(job_id, make_id())])) == [answer]
        dead = self.dead.pop(job_id, None)
        if dead is None:
            assert answer != new_id
            return
        assert answer == new_id
        heir = self.add(
            NewJob(
                new_id, dead.queue, TASK, key=dead.key, unique=dead.unique,
                priority=dead.priority, max_attempts=dead.max_attempts,
            ),
            "recover",
        )  # fmt: skip
        dead.recovered_as, heir.recovered_from = new_id, job_id
        if dead.unique and self.keys.get((dead.queue, dead.key), job_id) == job_id:
            self.keys[dead.queue, dead.key] = new_id

    @rule(
        nth=st.integers(0, 3),
        queue=st.sampled_from(QUEUES),
        what=st.sampled_from(HOUSEWORK),
    )
    def keep_house(self, nth: int, queue: str, what: str) -> None:
        match what:
            case "beat" | "rescue_worker":
                getattr(self, what)(self.pick_worker(nth))
            case "release" | "progress" if self.leases:
                claim, worker, request = pick(list(self.leases.values()), nth)
                self.release(worker, request) if what == "release" else self.progress(claim)
            case "prune" | "prune_one":
                self.prune(queue, keep=nth % 2, limit=1 if what == "prune_one" else 100)
            case "tidy":
                self.run(self.engine.tidy())
            case "close" | "crash":
                self.reopen(orderly=what == "close")
            case "pause" | "resume":
                self.run(self.engine.set_paused(queue, what == "pause"))
                (self.paused.add if what == "pause" else self.paused.discard)(queue)

    def reopen(self, orderly: bool) -> None:
        """The process ends, and another begins: nothing acknowledged is lost."""
        if orderly:
            self.run(self.engine.close())
        abandoned, self.engine = self.engine, self.place.engine(self.clock)
        self.run(self.engine.open())
        if not orderly:
            self.run(abandoned.close())

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


# A failure is first shrunk, for up to five minutes, and then told.
UNHURRIED = pytest.mark.timeout(0 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 600)


@UNHURRIED
@pytest.mark.parametrize("kind", ["sqlite", "postgres", *REDIS_KINDS])
def test_every_life_of_a_job_is_as_the_model_says(kind, tmp_path, request):
    phases = (Phase.reuse, Phase.generate, Phase.shrink)  # explaining would take longer than all the rest
    run_state_machine_as_test(
        lambda: Life(make_place(kind, tmp_path, request)), settings=settings(phases=phases)
    )
