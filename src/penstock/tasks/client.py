"""What tasks and handles ask of the engine: put jobs in, look at them, wait for their end."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock.lent import AsyncLent, Lent
from penstock.model.errors import InvalidOption, JobNotFound, ResultTimeout
from penstock.model.job import Enqueued, Job, NewJob
from penstock.tasks.access import Access, refuse_in_loop
from penstock.tasks.call import Call
from penstock.tasks.gather import drawn, in_groups
from penstock.tasks.handle import JobHandle
from penstock.tasks.home import Opened, Work
from penstock.tasks.transacting import Transacting
from penstock.tasks.transaction import refuse_waiting_for_itself
from penstock.telemetry import events, tracing

if TYPE_CHECKING:
    from penstock.tasks.task import Task

R = TypeVar("R")

FIRST_LOOK = 0.004  # seconds before a job is looked at again; grows by half each time
LAST_LOOK = 1.0
_NOT_COME = "has not come out of the outbox, was rolled back, or was a duplicate of another there,"


class Putting(Protocol):
    """What puts jobs in on a lent connection: the engine's own verbs, or those of an outbox."""

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]: ...

    async def aenqueue(
        self, lent: AsyncLent, jobs: Sequence[NewJob], *, again: bool = False
    ) -> Sequence[Enqueued]: ...


class Client:
    """Every verb in two forms: the plain one blocks, the one with an `a` is awaited."""

    def __init__(
        self,
        access: Access,
        putting: Callable[[], Putting],
        transacting: Transacting,
        *,
        relayed: bool = False,
    ) -> None:
        self.access = access
        self._putting = putting
        self.transacting = transacting  # what handlers may do in transactions
        self._relayed = relayed  # what is put in on a lent connection goes through an outbox

    def check_order(self) -> None:
        """InvalidOption where calls cannot have an `order`."""
        if not self._relayed:
            raise InvalidOption(
                "order= is the order in which an outbox is emptied, and this app has none: give "
                "Penstock(outbox=…); without one, jobs are in the engine in the order of your commits"
            )

    def send(self, call: Call[R]) -> JobHandle[R]:
        """Enqueue one call."""
        refuse_in_loop("aenqueue")
        sent = self._admit(call)
        with tracing.enqueueing([call.job]) as (job,):
            answer = self.access.run(_put(job, sent), "aenqueue")
        events.added((job,), (answer,))
        return JobHandle(call, answer)

    async def asend(self, call: Call[R]) -> JobHandle[R]:
        """Enqueue one call, sharing a commit with those made at the same time."""
        sent = self._admit(call)
        opened = self.access.opened_here
        if opened is None or tracing.is_on():
            with tracing.enqueueing([call.job]) as (job,):
                answer = await self.access.arun(_put(job, sent))
        else:
            job = call.job
            answer = await opened.gatherer.put(job, again=sent)
            opened.publisher.added((job,), (answer,))
        events.added((job,), (answer,))
        return JobHandle(call, answer)

    def send_many(self, calls: Sequence[Call[R]]) -> list[JobHandle[R]]:
        """Enqueue many calls in order, in groups of at most 5,000 that are each all or nothing."""
        refuse_in_loop("aenqueue_many")
        jobs, sent = self._admitted(calls)
        with tracing.enqueueing(jobs) as jobs:
            answers = self.access.run(_put_many(jobs, sent), "aenqueue_many")
        events.added(jobs, answers)
        return [JobHandle(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def asend_many(self, calls: Iterable[Call[R]]) -> list[JobHandle[R]]:
        """Enqueue many calls in order, in groups of at most 5,000 that are each all or nothing.

        An iterator is drawn from as its jobs go in: the next group is made while the engine writes the last.
        """
        if isinstance(calls, Collection):
            return await self._asend_all(list(calls))
        handles: list[JobHandle[R]] = []
        ahead: asyncio.Task[list[JobHandle[R]]] | None = None
        try:
            async for group in drawn(calls):
                handles += [] if ahead is None else await ahead
                ahead = asyncio.create_task(self._asend_all(group))
            return handles + ([] if ahead is None else await ahead)
        except BaseException as error:
            if ahead is not None:
                await _outlive(ahead, error)
            raise

    async def _asend_all(self, calls: Sequence[Call[R]]) -> list[JobHandle[R]]:
        jobs, sent = self._admitted(calls)
        with tracing.enqueueing(jobs) as jobs:
            answers = await self.access.arun(_put_many(jobs, sent))
        events.added(jobs, answers)
        return [JobHandle(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def send_together(self, calls: Sequence[Call[Any]]) -> list[JobHandle[Any]]:
        """Enqueue calls that are tied to each other: all or none, in one step."""
        refuse_in_loop("aenqueue")
        jobs, sent = self._admitted(calls)
        with tracing.enqueueing(jobs) as jobs:
            answers = self.access.run(_put_many(jobs, sent, together=True), "aenqueue")
        events.added(jobs, answers)
        return [JobHandle(call, answer) for call, answer in zip(calls, answers, strict=True)]

    async def asend_together(self, calls: Sequence[Call[Any]]) -> list[JobHandle[Any]]:
        """Enqueue calls that are tied to each other: all or none, in one step."""
        jobs, sent = self._admitted(calls)
        with tracing.enqueueing(jobs) as jobs:
            answers = await self.access.arun(_put_many(jobs, sent, together=True))
        events.added(jobs, answers)
        return [JobHandle(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def send_lent(
        self, calls: Sequence[Call[R]], connection: Lent | AsyncLent, *, together: bool = False
    ) -> list[JobHandle[R]]:
        """Enqueue calls as a part of the caller's transaction; `together`: in one step."""
        if isinstance(connection, AsyncLent):
            raise InvalidOption("this connection is async: await the twin of this call, whose name has an a")
        putting = self._putting()
        jobs, sent = self._admitted(calls, lent=True)
        answers: list[Enqueued] = []
        with tracing.enqueueing(jobs) as jobs:
            for group in [jobs] if together else in_groups(jobs):
                answers += putting.enqueue(connection, group, again=sent)
        events.added(jobs, answers, lent=True)
        return [JobHandle(*pair, lent=True) for pair in zip(calls, answers, strict=True)]

    async def asend_lent(
        self, calls: Sequence[Call[R]], connection: Lent | AsyncLent, *, together: bool = False
    ) -> list[JobHandle[R]]:
        """`send_lent`; a connection whose calls block does so here, too."""
        if isinstance(connection, Lent):
            return self.send_lent(calls, connection, together=together)
        putting = self._putting()
        jobs, sent = self._admitted(calls, lent=True)
        answers: list[Enqueued] = []
        with tracing.enqueueing(jobs) as jobs:
            for group in [jobs] if together else in_groups(jobs):
                answers += await putting.aenqueue(connection, group, again=sent)
        events.added(jobs, answers, lent=True)
        return [JobHandle(*pair, lent=True) for pair in zip(calls, answers, strict=True)]

    def _admit(self, call: Call[Any]) -> bool:
        """Whether the engine may know the call from an earlier try; it is refused where it cannot be made."""
        refuse_waiting_for_itself(self.transacting)
        self._let_in(call.task)
        call.refuse_order()
        sent, call.sent = call.sent, True
        return sent

    def _admitted(self, calls: Sequence[Call[Any]], *, lent: bool = False) -> tuple[list[NewJob], bool]:
        """The jobs to put in, and whether the engine may know one of them from an earlier try."""
        if not lent:
            refuse_waiting_for_itself(self.transacting)
        if len(set(map(id, calls))) != len(calls):
            raise InvalidOption("the same call is given twice; make one call() per job")
        for task in {call.task for call in calls}:
            self._let_in(task)
        if not lent:
            for call in [call for call in calls if call.job.order is not None]:
                call.refuse_order()
        sent = any(call.sent for call in calls)
        for call in calls:
            call.sent = True
        return [call.job for call in calls], sent

    def _let_in(self, task: Task[Any, Any]) -> None:
        if task.client is not self:
            raise InvalidOption(
                f"a call of {task!r} is one of another app; enqueue it with that app, or by its task"
            )
        if task.is_gated:
            task.admit()

    def get(self, job_id: str) -> Job:
        """The job as it is now, or JobNotFound."""
        return self.access.run(lambda opened, _: _get(opened, job_id), "arefresh")

    async def aget(self, job_id: str) -> Job:
        """The job as it is now, or JobNotFound."""
        return await self.access.arun(lambda opened, _: _get(opened, job_id))

    def finished(self, job_id: str, timeout: float | None, *, lent: bool) -> Job:
        """The job once it has ended, or ResultTimeout."""
        return self.access.run(_finished(job_id, timeout, to_come=lent and self._relayed), "aresult")

    async def afinished(self, job_id: str, timeout: float | None, *, lent: bool) -> Job:
        """The job once it has ended, or ResultTimeout."""
        return await self.access.arun(_finished(job_id, timeout, to_come=lent and self._relayed))


async def _outlive(ahead: asyncio.Task[Any], error: BaseException) -> None:
    """Let the group that is under way land before it is told that the next could not be made."""
    if not isinstance(error, Exception):
        ahead.cancel()
    await asyncio.wait({ahead})
    if not ahead.cancelled():
        ahead.exception()  # is looked at, or the loop complains of it


def _put(job: NewJob, sent: bool) -> Work[Enqueued]:
    return lambda opened, again: _put_here(opened, job, again or sent)


async def _put_here(opened: Opened, job: NewJob, again: bool) -> Enqueued:
    answer = await opened.gatherer.put(job, again=again)
    opened.publisher.added((job,), (answer,))
    return answer


def _put_many(jobs: Sequence[NewJob], sent: bool, *, together: bool = False) -> Work[Sequence[Enqueued]]:
    async def work(opened: Opened, again: bool) -> Sequence[Enqueued]:
        put = opened.gatherer.put_together if together else opened.gatherer.put_many
        answers = await put(jobs, again=again or sent)
        opened.publisher.added(jobs, answers)
        return answers

    return work


async def _get(opened: Opened, job_id: str) -> Job:
    job = await opened.engine.get(job_id)
    if job is None:
        raise JobNotFound(f"there is no record of job {job_id}; it has been pruned, or its queue keeps none")
    return job


def _finished(job_id: str, timeout: float | None, *, to_come: bool) -> Work[Job]:
    deadline = None if timeout is None else time.monotonic() + timeout
    return lambda opened, _: _look_until(opened, job_id, timeout, deadline, to_come)


async def _look_until(
    opened: Opened, job_id: str, timeout: float | None, deadline: float | None, to_come: bool
) -> Job:
    """Until it has ended. Where it is `to_come`, a relay has to bring it first."""
    pause = FIRST_LOOK
    while True:
        job = await (opened.engine.get(job_id) if to_come else _get(opened, job_id))
        if job is not None and job.state.finished:
            return job
        to_come = to_come and job is None
        wait = pause * random.uniform(0.75, 1.25)
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                state = f"is {job.state}" if job else _NOT_COME
                raise ResultTimeout(f"job {job_id} {state} after {timeout:g} s; it goes on, ask again")
            wait = min(wait, left)
        await asyncio.sleep(wait)
        pause = min(pause * 1.5, LAST_LOOK)
