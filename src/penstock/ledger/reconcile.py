"""Repairs what a crash, or the loss of what Redis held, has left between the ledger and the engine."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from penstock.engine import Reconciled
from penstock.ledger.books import Books
from penstock.ledger.delegate import Fenced
from penstock.ledger.rows import Line, job_of
from penstock.model.job import Edge, Enqueued, NewJob, Ties
from penstock.model.outcome import UPSTREAM_FAILED
from penstock.model.states import Status

log = logging.getLogger("penstock.ledger")

GRACE = 5.0  # seconds that whoever put a job in has to dispatch it
_BAD = (Status.FAILED, Status.CANCELLED)


class Reconciler:
    """One step is bounded, and may be done by any number at once: jobs go in by their ids."""

    def __init__(self, books: Books, engine: Fenced) -> None:
        self._books = books
        self._engine = engine

    async def step(self, limit: int, after: str | None) -> Reconciled:
        """Dispatch what was not; then compare the next rows, from `after` on."""
        waiting = await self._books.to_dispatch(GRACE, limit)
        await self.dispatch(waiting)
        for line in waiting:
            log.warning(
                "reconciled: job %s (%s) was accepted and not dispatched; it is now", line.id, line.task
            )
        lines = await self._books.unfinished(after, limit)
        lost, ended = await self._compare(lines)
        more = lines[-1].id if len(lines) == limit else None
        return Reconciled(len(waiting), lost, ended, more or (after if len(waiting) == limit else None))

    async def dispatch(self, lines: Sequence[Line]) -> None:
        """Put the jobs of these rows into the engine, which knows those that are there."""
        if not lines:
            return
        now = await self._books.database.now()
        jobs = await resolve(self._books, [job_of(line, now) for line in lines])
        await put_into(self._engine, [_feeding(job) for job in jobs])
        await self._books.mark([job.id for job in jobs])

    async def _compare(self, lines: Sequence[Line]) -> tuple[int, int]:
        """How many the engine had lost, and how many had ended there."""
        states = await self._engine.states([line.id for line in lines])
        told = dict(zip([line.id for line in lines], states, strict=True))
        odd = [job_id for job_id, state in told.items() if state is None or state.finished]
        # A run's end is in its row before the engine hears of it: what ended meanwhile shows now.
        still = [line for line in (await self._books.lines(odd)).values() if not line.ended] if odd else []
        lost = [line for line in still if told[line.id] is None]
        over = [line for line in still if told[line.id] is not None]
        await self._books.restore([line.id for line in lost])
        await self.dispatch(lost)
        for line in lost:
            log.warning("reconciled: job %s (%s) was lost by Redis; dispatched again", line.id, line.task)
        found = [await self._engine.get(line.id) for line in over]
        if jobs := [job for job in found if job is not None and job.state.finished]:
            await self._books.end(jobs)
        for job in jobs:
            log.warning("reconciled: job %s (%s) had ended as %s", job.id, job.task, job.state)
        return len(lost), len(jobs)


async def put_into(engine: Fenced, jobs: Sequence[NewJob]) -> list[Enqueued]:
    """Put in jobs that have rows. The rows say whose key is free; in the engine it may still be held."""
    if not jobs:
        return []
    answers = await engine.enqueue(jobs, again=True)
    refused = [job for job, answer in zip(jobs, answers, strict=True) if answer.id != job.id]
    if not refused:
        return answers
    made = await engine.enqueue([job._replace(unique=False) for job in refused], again=True)
    told = {answer.id: answer for answer in (*answers, *made)}
    return [told[job.id]._replace(duplicate=False) for job in jobs]


async def resolve(books: Books, jobs: Sequence[NewJob]) -> list[NewJob]:
    """With edges only to jobs that have not ended by the ledger: the engine may know the others no more.

    What must not run any more, since one it waited for has failed, is ended here.
    """
    upstream = [edge.id for job in jobs if job.ties for edge in job.ties.after]
    lines = await books.lines(upstream) if upstream else {}
    ended = {job_id: line.status for job_id, line in lines.items() if line.ended}
    left: list[NewJob] = []
    for job in jobs:
        edges = job.ties.after if job.ties else ()
        bad = [edge for edge in edges if ended.get(edge.id) in _BAD]
        if failed := next((edge for edge in bad if edge.on_failure == "fail"), None):
            await books.cancel([job.id], UPSTREAM_FAILED.format(id=failed.id))
        elif job.ties is None:
            left.append(job)
        else:
            still = tuple(edge for edge in edges if _waits(edge, ended, bad))
            left.append(job._replace(ties=job.ties._replace(after=still)))
    return left


def _waits(edge: Edge, ended: dict[str, str], bad: list[Edge]) -> bool:
    if any(each.on_failure == "continue" for each in bad):
        return False
    return edge.id not in ended or (ended[edge.id] in _BAD and edge.on_failure == "wait")


def _feeding(job: NewJob) -> NewJob:
    """Others that wait for it may be dispatched after it."""
    return job._replace(ties=(job.ties or Ties())._replace(feeds=True))
