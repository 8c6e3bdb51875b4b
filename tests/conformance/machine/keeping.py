"""The rules of upkeep and of what people do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from conformance.kit import TASK, gone, make_id
from conformance.machine.model import QUEUES, pick
from conformance.machine.modelled import Modelled
from conformance.machine.running import Running
from penstock.engine import Recovery, Retention
from penstock.model.job import NewJob, Window
from penstock.model.states import State

HOUSEWORK = (
    "beat", "beat", "rescue_worker", "release", "progress", "prune", "prune_one", "tidy", "close", "crash",
    "pause", "resume", "resume", "save_step", "save_step",
)  # fmt: skip


def _anew(window: Window) -> Window:
    """Of a recovered job: somebody asked for it, so it is not put off."""
    return window._replace(seconds=0) if window.kind == "debounce" else window


class Life(Running):
    """Everything that can happen to jobs: they run, time passes, somebody keeps house."""

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
        late = [
            j for j in self.model.values()
            if j.state is State.BLOCKED and j.deadline is not None and j.deadline <= now
        ]  # fmt: skip
        expired = self.run(self.engine.expire(1_000))
        assert {one.id for one in expired if not one.missed} == {job.id for job in past}
        for job in past:
            self.move(job, "expire", State.CANCELLED)
        late = [job for job in late if job.state is State.BLOCKED]
        for job in late:
            self.end_the_wait(job)
        assert {one.id for one in expired if one.missed} == {job.id for job in late}

    def end_the_wait(self, job: Modelled) -> None:
        match job.at_deadline:
            case "run":
                job.edges.clear()
                self.free(job, "expire")
            case "skip":
                self.move(job, "expire", State.CANCELLED)
            case "fail":
                self.move(job, "expire", State.FAILED)
                self.dead[job.id] = job

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
        done = [
            j for j in self.model.values()
            if j.queue == queue and j.state is State.COMPLETED and not self.pinned(j)
        ]  # fmt: skip
        retention = Retention(queue, keep_completed=keep, keep_failed=None)
        assert self.run(self.engine.prune(retention, limit)) == min(limit, max(0, len(done) - keep))
        removed = self.observed(done, None)
        for job in removed:
            self.forget(job)
        kept = [j.finished_at for j in done if j.id in self.model]
        assert all(sum(at >= job.finished_at for at in kept) >= keep for job in removed)

    # -- operate ----------------------------------------------------------------------------------------

    @rule(
        nths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
        verb=st.sampled_from(
            ["cancel", "cancel", "promote", "reschedule", "reschedule", "delete", "recover", "recover"]
        ),
        running=st.booleans(),
    )
    def operate(self, nths: list[int], verb: str, running: bool) -> None:
        unfinished = (State.ACTIVE,) if running else (State.WAITING, State.DELAYED, State.BLOCKED)
        aims = {
            "cancel": unfinished,
            "promote": (State.DELAYED,),
            "reschedule": unfinished,
            "delete": (State.COMPLETED, State.FAILED, State.CANCELLED),
            "recover": (State.FAILED,),
        }
        ids = [self.pick_job(n, *aims[verb]) for n in nths]
        if verb == "cancel":
            self.cancel(ids)
        elif verb == "reschedule":
            self.reschedule(ids[0], 7 * (nths[0] % 2))
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

    def reschedule(self, job_id: str, delay: int) -> None:
        job = self.model.get(job_id)
        can = job is not None and job.state in (State.WAITING, State.DELAYED)
        assert self.run(self.engine.reschedule([job_id], delay)) == can
        if can:
            due = self.clock.now() + timedelta(seconds=delay)
            job.expires = job.expires and job.expires + (due - job.due_at)
            job.due_at = due
            self.move(job, "reschedule", State.DELAYED if delay else State.WAITING)

    def delete(self, job_id: str) -> None:
        job = self.model.get(job_id)
        finished = job is not None and job.state.finished
        assert self.run(self.engine.delete([job_id])) == (finished or job_id in self.history)
        if finished:
            self.forget(job)
        self.history.discard(job_id)

    def recover(self, job_id: str) -> None:
        new_id = make_id()
        [answer] = self.run(self.engine.recover([Recovery(job_id, new_id)]))
        assert self.run(self.engine.recover([Recovery(job_id, make_id())])) == [answer]
        dead = self.dead.pop(job_id, None)
        if dead is None:
            assert answer != new_id
            return
        assert answer == new_id
        if dead.unique and self.holder(dead.queue, dead.key) == job_id:
            del self.keys[dead.queue, dead.key]
        heir = self.add(
            NewJob(
                new_id, dead.queue, TASK, key=dead.key, unique=dead.unique,
                priority=dead.priority, max_attempts=dead.max_attempts, window=_anew(dead.window),
            ),
            "recover",
        )  # fmt: skip
        dead.recovered_as, heir.recovered_from = new_id, job_id
        heir.steps, heir.window = dict(dead.steps), dead.window
        if dead.flow is not None and job_id in self.model:
            heir.flow = dead.flow
            self.flows[dead.flow].append(new_id)
        for job in self.model.values():
            if job.state is State.BLOCKED and job.edges.get(job_id) == "wait":
                del job.edges[job_id]
                job.edges[new_id] = "wait"

    @rule(
        nth=st.integers(0, 3),
        queue=st.sampled_from(QUEUES),
        what=st.sampled_from(HOUSEWORK),
    )
    def keep_house(self, nth: int, queue: str, what: str) -> None:
        match what:
            case "beat" | "rescue_worker":
                getattr(self, what)(self.pick_worker(nth))
            case "release" | "progress" | "save_step" if self.leases:
                claim, worker, request = pick(list(self.leases.values()), nth)
                if what == "release":
                    self.release(worker, request)
                elif what == "progress":
                    self.progress(claim)
                else:
                    self.save_step(claim, nth)
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
