"""What a handler is told about its run, and what it may say while it runs."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from penstock.lent import lent
from penstock.model.decide import had_none, was_dropped
from penstock.model.errors import Duration, ResultDropped, Snooze, in_seconds
from penstock.model.failure import described
from penstock.model.job import Claim
from penstock.model.redaction import Clean
from penstock.model.states import State
from penstock.model.values import loads
from penstock.tasks.base_context import BaseContext
from penstock.tasks.errands import STEPS, UPSTREAM, Errand, Upstream
from penstock.tasks.steps import Steps
from penstock.tasks.transaction import (
    SyncTransaction,
    Transaction,
    arecord,
    blocking,
    record,
)

if TYPE_CHECKING:
    from penstock.tasks.task import Task

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("penstock.worker")


class Context(BaseContext):
    """The first parameter of an async handler that asks for it."""

    __slots__ = ()

    async def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        self.tell_log()
        if self._may_tell() and (told := _told(self._link.claim, percent, message, self._clean)):
            await self._link.progress(*told)

    def transaction(self, connection: Any = None) -> Transaction:
        """`async with ctx.transaction() as tx:` the work inside and the end of this run are one.

        It runs on a connection of ours to the engine's database, or on yours: a driver's, a SQLAlchemy
        session, Django's. Where the block ends well the job is completed and all is committed; where it does
        not, or the job has passed on (LeaseLost), nothing of it stays. One per attempt.
        """
        self._only_one()
        block = self._block = Transaction(self._link, self._transacting(), connection)
        return block

    async def once(self, name: str, *, connection: Any = None) -> bool:
        """Whether this effect is to be made: True the first time for this task, key and name.

        The record of it is written in the open transaction, or in that of `connection`, which must hold the
        effect as well.
        """
        effect = self._effect(name)
        if self._is_in_block(connection):
            assert isinstance(self._block, Transaction)
            return await arecord(self._block.recording, self._block.lent, effect)
        return await arecord(self._transacting().recording(), lent(connection), effect)

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
        self._refuse_in_block("a step")
        memory = self._memory()
        name = memory.ask(name)
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
        self._refuse_in_block("a sleep")
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


class SyncContext(BaseContext):
    """The first parameter of a sync handler that asks for it: the same methods without await."""

    __slots__ = ()

    def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        self.tell_log()
        if self._may_tell() and (told := _told(self._link.claim, percent, message, self._clean)):
            self._link.progress_sync(*told)

    def transaction(self, connection: Any = None) -> SyncTransaction:
        """`with ctx.transaction() as tx:` the work inside and the end of this run are one.

        It runs on a connection of ours to the engine's database, or on yours: a driver's, a SQLAlchemy
        session, Django's. Where the block ends well the job is completed and all is committed; where it does
        not, or the job has passed on (LeaseLost), nothing of it stays. One per attempt.
        """
        self._only_one()
        block = self._block = SyncTransaction(self._link, self._transacting(), connection)
        return block

    def once(self, name: str, *, connection: Any = None) -> bool:
        """Whether this effect is to be made: True the first time for this task, key and name.

        The record of it is written in the open transaction, or in that of `connection`, which must hold the
        effect as well.
        """
        effect = self._effect(name)
        if self._is_in_block(connection):
            assert isinstance(self._block, SyncTransaction)
            return record(self._block.recording, self._block.lent, effect)
        return record(self._transacting().recording(), blocking(connection), effect)

    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `fn` once for all runs of this job: what it returns, strict JSON, is kept under this name.

        A run after a failure or a crash gets it from there. LeaseLost where the job has passed on.
        """
        self._refuse_in_block("a step")
        memory = self._memory()
        name = memory.ask(name)
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
        self._refuse_in_block("a sleep")
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


def _told(claim: Claim, percent: float, message: str, clean: Clean) -> tuple[float, str] | None:
    """As it can be stored, and the nearest there is: a sum that comes to 100.01 must not fail the work."""
    try:
        number = percent if type(percent) is int else float(percent)
        return (max(0, min(number, 100)) if number == number else 0), clean(str(message))  # noqa: PLR0124 - not a number
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
