"""Repairs what a crash, or the loss of what Redis held, has left between the ledger and the engine."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from penstock.engine import Reconciled
from penstock.ledger.books import Books
from penstock.ledger.delegate import Fenced
from penstock.ledger.piecewise import piecewise
from penstock.ledger.rows import Line, job_of
from penstock.model.failure import shorten
from penstock.model.job import Edge, Enqueued, NewJob, Ties
from penstock.model.outcome import EXPIRED, UPSTREAM_FAILED
from penstock.model.states import Status

log = logging.getLogger("penstock.ledger")

GRACE = 5.0  # seconds that whoever put a job in has to dispatch it
PUT_OFF = 60.0  # seconds until one that could not be dispatched is tried again
MAX_ERROR = 500  # characters
_BAD = (Status.FAILED, Status.CANCELLED)


class Reconciler:
    """One step is bounded, and may be done by any number at once: jobs go in by their ids.

    A row with which something is wrong is set aside, and keeps no other waiting.
    """

    def __init__(self, books: Books, engine: Fenced) -> None:
        self._books = books
        self._engine = engine

    async def step(self, limit: int, after: str | None) -> Reconciled:
        """Dispatch what was not; then compare the next rows, from `after` on."""
        waiting = await self._books.to_dispatch(GRACE, limit)
        dispatched = await self.dispatch(waiting)
        for line in dispatched:
            log.warning(
                "reconciled: job %s (%s) was accepted and not dispatched; it is now", line.id, line.task
            )
        lines = await self._books.unfinished(after, limit)
        restored, ended = await self._compare(lines)
        more = lines[-1].id if len(lines) == limit else None
        again = after if len(waiting) == limit else None
        return Reconciled(len(dispatched), restored, ended, more or again)

    async def dispatch(self, lines: Sequence[Line]) -> list[Line]:
        """Put the jobs of these rows into the engine, which knows those that are there; which went in."""
        return await piecewise(lines, self._dispatch, self._set_aside)

    async def bring(self, ids: Sequence[str]) -> None:
        """Have the engine know these jobs, where they have rows and have not ended."""
        states = await self._engine.states(ids)
        unknown = [job_id for job_id, state in zip(ids, states, strict=True) if state is None]
        if unknown:
            lines = await self._books.lines(unknown)
            await self._restore([line for line in lines.values() if not line.ended])

    async def _dispatch(self, lines: Sequence[Line]) -> None:
        now = await self._books.database.now()
        jobs = await resolve(self._books, [job_of(line, now) for line in lines])
        await put_into(self._engine, [_feeding(job) for job in jobs])
        debounced = {line.id for line in lines if line.debounced}
        for job in jobs:
            if job.id in debounced:
                await self._engine.put_off(job)  # which an earlier call may have put in
        await self._books.mark([job.id for job in jobs])

    async def _set_aside(self, line: Line, error: Exception) -> None:
        text = shorten(f"{type(error).__name__}: {error}".replace("\0", ""), MAX_ERROR)
        log.error("job %s (%s) cannot be dispatched, tried again later: %s", line.id, line.task, text)
        until = await self._books.database.now() + timedelta(seconds=PUT_OFF)
        await self._books.hold(line.id, until, f"not dispatched: {text}")

    async def _compare(self, lines: Sequence[Line]) -> tuple[int, int]:
        """How many the engine had lost and has again, and how many had ended."""
        states = await self._engine.states([line.id for line in lines])
        told = dict(zip([line.id for line in lines], states, strict=True))
        odd = [job_id for job_id, state in told.items() if state is None or state.finished]
        # A run's end is in its row before the engine hears of it: what ended meanwhile shows now.
        still = [line for line in (await self._books.lines(odd)).values() if not line.ended]
        unknown = [line for line in still if told[line.id] is None]
        ended = await piecewise([line for line in still if told[line.id] is not None], self._end, self._leave)
        lost, over = await self._end_unknown(unknown)
        restored = await self._restore(lost)
        return len(restored), len(ended) + over

    async def _restore(self, lost: Sequence[Line]) -> list[Line]:
        restored = await self.dispatch(await self._books.restore(lost))
        for line in restored:
            log.warning("reconciled: job %s (%s) was lost by Redis; dispatched again", line.id, line.task)
        return restored

    async def _end_unknown(self, lines: Sequence[Line]) -> tuple[list[Line], int]:
        """Those that are to run, and how many are not: asked to stop, or ended there and pruned."""
        now = await self._books.database.now()
        reasons = {line.id: line.cancel_note for line in lines if line.cancel_note is not None}
        reasons |= {line.id: EXPIRED for line in lines if line.id not in reasons and line.has_expired(now)}
        await self._books.cancel(reasons)
        letters = [await self._engine.dead_letter(line.id) for line in lines if line.id not in reasons]
        failed = {letter.job_id: letter for letter in letters if letter is not None}
        await self._books.bury(list(failed.values()))
        for line in lines:
            if line.id in reasons or line.id in failed:
                how = "failed" if line.id in failed else "cancelled"
                log.warning("reconciled: job %s (%s) had ended as %s", line.id, line.task, how)
        return [line for line in lines if line.id not in reasons | failed], len(reasons) + len(failed)

    async def _end(self, lines: Sequence[Line]) -> None:
        found = [await self._engine.get(line.id) for line in lines]
        jobs = [job for job in found if job is not None and job.state.finished]
        await self._books.end(jobs)
        for job in jobs:
            log.warning("reconciled: job %s (%s) had ended as %s", job.id, job.task, job.state)

    async def _leave(self, line: Line, error: Exception) -> None:
        log.error("the end of job %s (%s) cannot be written: %s", line.id, line.task, error)


async def put_into(engine: Fenced, jobs: Sequence[NewJob]) -> Sequence[Enqueued]:
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
    lines = await _upstream(books, [edge.id for job in jobs if job.ties for edge in job.ties.after])
    ended = {job_id: line.status for job_id, line in lines.items() if line.ended}
    left: list[NewJob] = []
    for job in jobs:
        edges = [_led_on(edge, lines) for edge in job.ties.after] if job.ties else []
        bad = [edge for edge in edges if ended.get(edge.id) in _BAD]
        if failed := next((edge for edge in bad if edge.on_failure == "fail"), None):
            await books.cancel({job.id: UPSTREAM_FAILED.format(id=failed.id)})
        elif job.ties is None:
            left.append(job)
        else:
            still = tuple(edge for edge in edges if _waits(edge, ended, bad))
            left.append(job._replace(ties=job.ties._replace(after=still)))
    return left


async def _upstream(books: Books, ids: Sequence[str]) -> dict[str, Line]:
    """The rows of these, and of what they were recovered as."""
    lines: dict[str, Line] = {}
    while ids:
        found = await books.lines(ids)
        lines |= found
        ids = [heir for line in found.values() if (heir := line.recovered_as) and heir not in lines]
    return lines


def _led_on(edge: Edge, lines: Mapping[str, Line]) -> Edge:
    """Who went on waiting when it failed waits for its heir."""
    while edge.on_failure == "wait" and edge.id in lines and (heir := lines[edge.id].recovered_as):
        edge = edge._replace(id=heir)
    return edge


def _waits(edge: Edge, ended: dict[str, str], bad: list[Edge]) -> bool:
    if any(each.on_failure == "continue" for each in bad):
        return False
    return edge.id not in ended or (ended[edge.id] in _BAD and edge.on_failure == "wait")


def _feeding(job: NewJob) -> NewJob:
    """Others that wait for it may be dispatched after it."""
    return job._replace(ties=(job.ties or Ties())._replace(feeds=True))
