"""The rules by which jobs come in, are claimed, and end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from conformance.kit import (
    SIGNATURE,
    TASK,
    end,
    failed,
    make_id,
    new,
    parked,
    register,
    retried,
    snoozed,
    want,
)
from conformance.machine.model import QUEUES, TTL, Model, pick
from conformance.machine.modelled import Modelled
from penstock.model.errors import WorkerExpired
from penstock.model.job import RECORD, Claim, Edge, FlowName, NewJob, Ties, Window
from penstock.model.outcome import COMPLETED, Cancelled, Failed, Outcome, Released
from penstock.model.states import State

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
RARELY = st.sampled_from([False, False, False, True])
WINDOWS = {
    "unfinished": Window("unfinished"),
    "started": Window("started"),
    "period": Window("period", 20.5),
    "debounce": Window("debounce", 5),
}
SPECS = st.fixed_dictionaries(
    {
        "queue": st.sampled_from(QUEUES),
        "key": st.sampled_from([None, None, None, "k1", "k2", *WINDOWS]),
        "priority": st.sampled_from([1, 3, 3, 4]),
        "delay": st.sampled_from([0, 0, 0, 5, 60]),
        "max_attempts": st.sampled_from([1, 3]),
        "expire_after": st.sampled_from([None, None, 40.5]),
        "upstream": st.none() | st.lists(st.integers(0, 4), min_size=1, max_size=3),
        "on_failure": st.sampled_from(["fail", "continue", "ignore", "wait"]),
        "deadline": st.sampled_from([None, None, None, "skip", "run", "fail"]),
    }
)


class Running(Model):
    """Workers that live, and workers given up long ago that go on claiming and settling."""

    # -- in ---------------------------------------------------------------------------------------------

    @rule(
        specs=st.lists(SPECS, min_size=1, max_size=4),
        flow=RARELY,
        reply_lost=RARELY,
    )
    def enqueue(self, specs: list[dict[str, Any]], flow: bool, reply_lost: bool) -> None:
        batch = self.made(specs, FlowName(make_id(), "flow") if flow else None)
        answers = self.run(self.engine.enqueue(batch))
        if reply_lost:
            again = self.run(self.engine.enqueue(batch, again=True))
            assert [(a.id, a.duplicate) for a in again] == [(a.id, a.duplicate) for a in answers]
        known = [self.put_in(job) for job in batch]
        assert [(a.id, a.duplicate) for a in answers] == known
        if len({job.key for job in batch}) == len(batch):  # else the first is told as it was between
            assert [a.state for a in answers] == [self.state_of(job_id) for job_id, _ in known]

    def put_in(self, job: NewJob) -> tuple[str, bool]:
        """Who is answered, and whether as a duplicate."""
        holder = self.holder(job.queue, job.key) if job.unique else None
        if holder is None:
            self.add(job)
            return job.id, False
        if holder in self.model:
            self.replace(self.model[holder], job)
        return holder, True

    def state_of(self, job_id: str) -> State:
        return self.model[job_id].state if job_id in self.model else State.COMPLETED

    def made(self, specs: list[dict[str, Any]], flow: FlowName | None) -> list[NewJob]:
        """The batch; a job may wait for one before it, for one there is, and for one that never came."""
        batch: list[NewJob] = []
        for spec in specs:
            upstream, deadline, rule = (spec.get(name) for name in ("upstream", "deadline", "on_failure"))
            plain = {k: v for k, v in spec.items() if k not in ("upstream", "deadline", "on_failure")}
            shared = plain.get("key") and sum(other.get("key") == plain["key"] for other in specs) > 1
            edges = () if upstream is None or shared else self.edges(upstream, batch, rule, deadline)
            plain["window"] = WINDOWS.get(plain.get("key") or "", RECORD)
            more = {"deadline": 10.5, "at_deadline": deadline} if deadline and edges else {}
            batch.append(new(ties=Ties(edges, feeds=True, flow=flow, **more), **plain))
        return batch

    def edges(
        self, nths: list[int], batch: list[NewJob], rule: str, deadline: str | None
    ) -> tuple[Edge, ...]:
        """What a job with a deadline waits for, waits for nobody: it could end by two deadlines at once."""
        fresh = [] if deadline else [job.id for job in batch if not job.unique]
        there = [j.id for j in self.model.values() if j.recovered_as is None and not (deadline and j.tied)]
        some = [self.ever[0], *there[-6:], *fresh]
        return tuple(Edge(upstream, rule) for upstream in dict.fromkeys(pick(some, n) for n in nths))

    # -- run --------------------------------------------------------------------------------------------

    @initialize(count=st.integers(1, 4))
    def begin(self, count: int) -> None:
        self.start_worker()
        self.enqueue([{"queue": "a", "key": ["k1", None][n % 2]} for n in range(count)], False, False)

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
            claims = self.run(self.engine.claim(asked)).claims
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
        followers = {claim.token: [new(claim.queue, ties=Ties(feeds=True))] for claim, _, _ in some[:1]}
        ends = [end(c, outcome, keep=keep, then=followers.get(c.token, ())) for c, _, _ in some]
        asked = want(worker=more, per_queue=dict.fromkeys(QUEUES, 1), limit=2) if more else None
        settled = self.run(self.engine.settle(ends, asked))
        for (claim, _, _), accepted in zip(some, settled.accepted, strict=True):
            job = self.model.get(claim.id)
            assert accepted is (job is not None and job.state is State.ACTIVE and job.token == claim.token)
            if accepted:
                job.ended_by.add(claim.token)
                self.end(job, outcome, keep=keep)
                if outcome.state is State.COMPLETED:
                    for follower in followers.get(claim.token, ()):
                        self.add(follower)
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

    def save_step(self, claim: Claim, nth: int) -> None:
        job = self.model.get(claim.id)
        mine = job is not None and job.state is State.ACTIVE and job.token == claim.token
        name, value = f"step-{nth % 3}", str(nth)
        assert self.run(self.engine.save_step(claim.id, claim.token, name, value)) is mine
        if mine:
            job.steps[name] = value
        assert self.run(self.engine.steps(claim.id)) == (job.steps if job else {})
