"""What a handler is told about its run, and what it may say while it runs."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, MutableMapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from penstock.model.decide import had_none, was_dropped
from penstock.model.errors import Duration, InvalidOption, ResultDropped, Snooze, in_seconds
from penstock.model.failure import described
from penstock.model.job import Claim, Job
from penstock.model.priority import Priority
from penstock.model.states import State
from penstock.model.values import loads
from penstock.tasks.errands import STEPS, UPSTREAM, Errand, Upstream
from penstock.tasks.run_link import RunLink
from penstock.tasks.steps import Steps, lost

if TYPE_CHECKING:
    from penstock.tasks.call import Call
    from penstock.tasks.client import Client
    from penstock.tasks.task import Task

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("penstock.worker")


class _BaseContext:
    """What both kinds of handlers can read."""

    __slots__ = ("_client", "_link", "_log", "_steps")

    def __init__(self, link: RunLink, client: Client | None = None) -> None:
        self._link = link
        self._client = client
        self._log: JobLogger | None = None
        self._steps: Steps | None = None

    @property
    def job(self) -> Job:
        """The job as it was when this run claimed it."""
        return _snapshot(self._link.claim, self._link.worker)

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._link.claim.attempt

    @property
    def key(self) -> str:
        """The job's idempotency key: the same in every attempt."""
        return self._link.claim.key

    @property
    def deadline(self) -> float | None:
        """When this run will be ended for taking too long, by `time.monotonic()`; None: no limit."""
        return self._link.deadline

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked this job to stop."""
        return self._link.cancelled()

    @property
    def lease_lost(self) -> bool:
        """Whether this worker was given up: what the run returns will be refused."""
        return self._link.lease_lost()

    @property
    def log(self) -> JobLogger:
        """A logger whose records name the job, its task, its queue and the attempt."""
        if self._log is None:
            self._log = JobLogger(self._link.claim)
        return self._log

    def enqueue(self, call: Call[Any]) -> None:
        """Put a job in together with the end of this run, where it completes; else nothing is put in."""
        if self._client is not None and call.task.client is not self._client:
            raise InvalidOption(f"{call!r} was made by a task of another app; enqueue it with that app")
        if call.sent:
            raise InvalidOption(f"{call!r} has been enqueued already; make one call() per job")
        call.refuse_order()
        call.task.admit()
        call.sent = True
        self._link.follow(call.job)

    def _memory(self) -> Steps:
        if self._steps is None:
            self._steps = Steps(self._link.claim)
        return self._steps

    def _hold(self) -> None:
        """LeaseLost where the job has passed on: a step must not be begun then."""
        if self._link.lease_lost():
            raise lost(self._link.claim)


class Context(_BaseContext):
    """The first parameter of an async handler that asks for it."""

    __slots__ = ()

    async def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        if told := _told(self._link.claim, percent, message):
            await self._link.progress(*told)

    # An async function is also a function: the first overload that fits is the one that is meant.
    @overload
    async def step(
        self, name: str, fn: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...
    @overload
    async def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def step(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call `fn` once for all runs of this job: what it returns, strict JSON, is kept under this name.

        A run after a failure or a crash gets it from there. LeaseLost where the job has passed on.
        """
        memory = self._memory()
        memory.ask(name)
        kept = await self._kept(memory)
        if name not in kept:
            self._hold()
            value = fn(*args, **kwargs)
            await self._keep(memory, name, memory.written(name, await value if _awaits(value) else value))
        return loads(kept[name])

    async def sleep(self, seconds: Duration) -> None:
        """Go on after this time; meanwhile the job holds no slot, and no attempt is spent.

        The handler is run again from its beginning, and passes by what it has slept and done in steps.
        """
        wait = in_seconds("sleep", seconds)
        memory = self._memory()
        name, begun = memory.ask_sleep()
        if wait and (await self._kept(memory)).get(name, begun) == begun:
            await self._keep(memory, name, begun)
            raise Snooze(wait, f"sleeps for {wait:g} s")

    async def upstream(self) -> list[Upstream]:
        """The jobs for which this one waited, in the order in which it named them."""
        return [_upstream(row) for row in await self._link.do(UPSTREAM)]

    async def results_of(self, task: Task[..., R]) -> list[R]:
        """What the completed jobs of this task returned, among those for which this one waited."""
        return _results(await self.upstream(), task)

    async def _kept(self, memory: Steps) -> dict[str, str]:
        return memory.read(await self._link.do(STEPS)) if memory.kept is None else memory.kept

    async def _keep(self, memory: Steps, name: str, text: str) -> None:
        memory.keep(name, text, await self._link.do(Errand("save_step", name, text)))


class SyncContext(_BaseContext):
    """The first parameter of a sync handler that asks for it: the same methods without await."""

    __slots__ = ()

    def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        if told := _told(self._link.claim, percent, message):
            self._link.progress_sync(*told)

    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `fn` once for all runs of this job: what it returns, strict JSON, is kept under this name.

        A run after a failure or a crash gets it from there. LeaseLost where the job has passed on.
        """
        memory = self._memory()
        memory.ask(name)
        kept = self._kept(memory)
        if name not in kept:
            self._hold()
            self._keep(memory, name, memory.written(name, fn(*args, **kwargs)))
        value: R = loads(kept[name])
        return value

    def sleep(self, seconds: Duration) -> None:
        """Go on after this time; meanwhile the job holds no slot, and no attempt is spent.

        The handler is run again from its beginning, and passes by what it has slept and done in steps.
        """
        wait = in_seconds("sleep", seconds)
        memory = self._memory()
        name, begun = memory.ask_sleep()
        if wait and self._kept(memory).get(name, begun) == begun:
            self._keep(memory, name, begun)
            raise Snooze(wait, f"sleeps for {wait:g} s")

    def upstream(self) -> list[Upstream]:
        """The jobs for which this one waited, in the order in which it named them."""
        return [_upstream(row) for row in self._link.do_sync(UPSTREAM)]

    def results_of(self, task: Task[..., R]) -> list[R]:
        """What the completed jobs of this task returned, among those for which this one waited."""
        return _results(self.upstream(), task)

    def _kept(self, memory: Steps) -> dict[str, str]:
        return memory.read(self._link.do_sync(STEPS)) if memory.kept is None else memory.kept

    def _keep(self, memory: Steps, name: str, text: str) -> None:
        memory.keep(name, text, self._link.do_sync(Errand("save_step", name, text)))


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs to `penstock.task.<name>`, with the job in every record."""

    def __init__(self, claim: Claim) -> None:
        fields = {
            "job_id": claim.id,
            "job_name": claim.task,
            "queue": claim.queue,
            "attempt": claim.attempt,
        }
        super().__init__(logging.getLogger(f"penstock.task.{claim.task}"), fields)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def _told(claim: Claim, percent: float, message: str) -> tuple[float, str] | None:
    """As it can be stored, and the nearest there is: a sum that comes to 100.01 must not fail the work."""
    try:
        number = percent if type(percent) is int else float(percent)
        return (max(0, min(number, 100)) if number == number else 0), str(message)  # noqa: PLR0124 - not a number
    except Exception as error:  # noqa: BLE001 - whatever was given: it is for people who watch
        log.warning("progress of job %s not stored: %s", claim.id, described(error))
        return None


def _awaits(value: Any) -> bool:
    return inspect.isawaitable(value)


def _upstream(row: dict[str, Any]) -> Upstream:
    text = row["result"]
    return Upstream(
        row["id"], row["task"], State(row["state"]), None if text is None else loads(text), row["note"], text
    )


def _results(found: list[Upstream], task: Task[..., R]) -> list[R]:
    """Without those that found nothing to do: they have returned nothing."""
    theirs = [job for job in found if job.completed and job.task == task.name and not had_none(job.note)]
    for job in theirs:
        if was_dropped(job.note):
            raise ResultDropped(f"job {job.id}, for which this one waited, completed; {job.note}")
    return [task.decode_result(job.result_json) for job in theirs]


def _snapshot(claim: Claim, worker: str) -> Job:
    return Job(
        id=claim.id,
        queue=claim.queue,
        task=claim.task,
        lane=claim.lane,
        state=State.ACTIVE,
        args_json=claim.args,
        key=claim.key,
        unique=claim.key != claim.id,
        priority=Priority(claim.priority),
        attempt=claim.attempt,
        max_attempts=claim.max_attempts,
        created_at=claim.created_at,
        due_at=claim.due_at,
        owner=claim.owner,
        options_json=claim.options,
        worker=worker,
        suspect=claim.suspect,
        crashes=claim.crashes,
    )
