"""Runs claimed jobs: `async def` on the loop, `def` in threads, suspects and `execute="process"` in children.

The executor knows no retries and no storage: it turns a claim into the End of a run, once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NoReturn

from penstock.model.decide import Committed, Crashed, End, Lost, Misplaced, Unfit, end_of
from penstock.model.errors import InvalidArguments, InvalidValue
from penstock.model.failure import MAX_MESSAGE, shorten
from penstock.model.job import Claim
from penstock.model.lanes import misfits
from penstock.model.outcome import UNKNOWN_TASK, Park
from penstock.model.retry import Retry
from penstock.runtime import forks
from penstock.runtime.board import Board
from penstock.runtime.links import Lines
from penstock.runtime.running import Running, Stop
from penstock.runtime.solo import Bereft, ChildDied, SoloPool
from penstock.runtime.threads import Threads
from penstock.tasks.declared import Execute
from penstock.tasks.registry import Registry
from penstock.tasks.task import Task
from penstock.telemetry import tracing

log = logging.getLogger("penstock.worker")

PATIENCE = 1.0  # seconds that a cancelled coroutine gets to end before its slot is taken from it

OnEnd = Callable[[Running, End], None]


def _named_task(
    loop: asyncio.AbstractEventLoop, running: Coroutine[Any, Any, None], name: str
) -> asyncio.Task[None]:
    """As `create_task`; where nobody has a say in it, without the name that is made up for each at first."""
    if loop.get_task_factory() is not None:
        return loop.create_task(running, name=name)
    return asyncio.Task(running, loop=loop, name=name)


class Executor:
    """Touched by the event loop only."""

    def __init__(self, registry: Registry, board: Board, solo: SoloPool, lines: Lines, on_end: OnEnd) -> None:
        self._tasks = registry.tasks
        self._board = board
        self._solo = solo
        self._lines = lines
        self._account = lines.account
        self._on_end = on_end
        self._threads = Threads("penstock-job")
        self._copies = forks.copies
        self._free = board.slots
        self.running: dict[str, Running] = {}
        self.ready: deque[Claim] = deque()
        self._first_ready: Claim | None = None  # when it was last looked at
        self.per_queue: Counter[str] = Counter()  # running and ready
        self.stuck = 0  # runs that were settled while their code goes on

    # -- in -----------------------------------------------------------------------------------------
    def offer(self, claims: Iterable[Claim]) -> None:
        """Take on claimed jobs; what finds no slot waits here."""
        for claim in claims:
            self.per_queue[claim.queue] += 1
            self.ready.append(claim)
        self._fill()

    def take_back(self, queues: frozenset[str] | None = None, token: str | None = None) -> list[Claim]:
        """Give up ready jobs that were not started: all of them, some queues', or one."""
        taken = [c for c in self.ready if (queues is None or c.queue in queues) and token in (None, c.token)]
        gone = set(map(id, taken))
        self.ready = deque(c for c in self.ready if id(c) not in gone)
        for claim in taken:
            self.per_queue[claim.queue] -= 1
        return taken

    def stuck_ready(self) -> list[Claim]:
        """Give up all ready jobs if no slot came free for the first of them since this was last asked."""
        first = self.ready[0] if self.ready else None
        stuck = first is not None and first is self._first_ready
        self._first_ready = first
        return self.take_back() if stuck else []

    def _fill(self) -> None:
        while self._free > 0 and self.ready:
            self._start(self.ready.popleft())

    def _start(self, claim: Claim) -> None:
        running = Running(claim, asyncio.get_running_loop())
        self._free -= 1
        self.running[claim.token] = running
        self._board.begin(claim.token)
        unfit = self._prepare(running)
        if unfit is not None:
            self._board.end(claim.token)
            self._finish(running, unfit)
            return
        task = running.task
        assert task is not None
        if claim.suspect or task.execute is Execute.PROCESS:
            running.handle = asyncio.create_task(self._in_child(running))
            return
        running.begin()
        if self._account.attentive:
            self._account.started(claim)
        if task.execute is Execute.ASYNC:
            running.handle = _named_task(running.loop, self._on_loop(running, task), task.name)
        else:
            self._threads.run(lambda: self._in_thread(running, task))

    def _prepare(self, running: Running) -> End | None:
        """Find the task and read its arguments; what does not fit is answered with the reason."""
        claim = running.claim
        task = running.task = self._tasks.get(claim.task)
        if task is None:
            return Unfit(Park(claim.task, f"{UNKNOWN_TASK} {claim.task!r}; deploy one that does"))
        if task.is_gated and (closed := task.closed()):
            return Unfit(Park(claim.task, closed, misfits(claim.lane)))
        try:
            if claim.options is None:  # as most have none
                running.policy, running.timeout = task.retry, task.timeout
            else:
                running.policy = task.policy_for(claim.options)
                running.timeout = task.timeout_for(claim.options)
            running.args = task.decode(claim.args)
            belongs = task.lane_for(running.args) if task.is_limited else None
        except InvalidArguments as error:
            what = "; ".join(f"{p.argument}: {p.message}" for p in error.problems)
            misfit = misfits(claim.lane, task.fingerprint)
            reason = f"its arguments no longer fit task {claim.task!r} ({what})"
            return Unfit(Park(claim.task, shorten(reason, MAX_MESSAGE), misfit))
        except InvalidValue as error:
            return end_of(error, Retry.none())
        except BaseException as error:  # noqa: BLE001 - one bad job must not end the others
            return end_of(error, running.policy, task.classify, task.cleaner(claim.args))
        return None if belongs is None or belongs == claim.lane else Misplaced(belongs)

    # -- run ----------------------------------------------------------------------------------------
    async def _on_loop(self, running: Running, task: Task[..., Any]) -> None:
        end: End
        try:
            if task.takes_context or tracing.is_on():
                end = running.returned(await task.run(self._lines.line(running), running.args))
            else:
                end = running.returned(await task.fn(**running.args))
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises ends in a settled attempt
            end = running.ended_by(error)
        if forks.copies != self._copies:
            self._leave()
        self._finish(running, end)

    def _in_thread(self, running: Running, task: Task[..., Any]) -> None:
        end: End
        try:
            end = running.returned(task.run_sync(self._lines.line(running), running.args))
        except BaseException as error:  # noqa: BLE001 - as above
            end = running.ended_by(error)
        if forks.copies != self._copies:
            self._leave()
        if not running.loop.is_closed():
            running.loop.call_soon_threadsafe(self._finish, running, end)

    def _leave(self) -> NoReturn:
        """A handler may fork. A copy that goes on must not settle over connections that are not its own."""
        os._exit(0)

    async def _in_child(self, running: Running) -> None:
        end: End
        try:
            end = await self._solo.run(running.claim, self._lines.solo_line(running))
        except Bereft as error:
            # Nobody knows whose doing that was. A suspect whom it meets again is charged, or it had no end.
            end = Crashed(str(error)) if running.claim.suspect else Lost(str(error))
        except ChildDied as error:
            end = Crashed(str(error))
        except BaseException as error:  # noqa: BLE001 - stopped from outside: the child has been killed
            end = running.ended_by(error)
        self._finish(running, Committed() if running.committed else end)

    def _finish(self, running: Running, end: End) -> None:
        if running.settled:
            self.stuck -= 1
            return
        self._close(running)
        self._on_end(running, end)
        self._fill()

    def _close(self, running: Running) -> None:
        running.settled = True
        self._free += 1
        del self.running[running.claim.token]
        self.per_queue[running.claim.queue] -= 1

    # -- stop ---------------------------------------------------------------------------------------
    def stop(self, running: Running, why: Stop) -> None:
        """End a run from outside: coroutines are cancelled, children killed, threads told."""
        if running.stop is not None or running.settled:
            return
        running.stop = why
        running.stopped_at = time.monotonic()
        if running.handle is not None:
            running.handle.cancel()
        elif why is Stop.TIMEOUT:
            self._abandon(running)

    def tick(self) -> None:
        """Enforce the timeouts; take the slot from what was stopped and does not end."""
        now = time.monotonic()
        for running in list(self.running.values()):
            late = running.deadline is not None and now >= running.deadline
            if running.stop is None:
                if late:
                    self.stop(running, Stop.TIMEOUT)
            elif late if running.handle is None else now - running.stopped_at > PATIENCE:
                self._give_slot_up(running)

    def _give_slot_up(self, running: Running) -> None:
        # At shutdown the process ends soon. Handed back before that, the job would run twice at once.
        if running.stop is not Stop.SHUTDOWN:
            self._abandon(running)

    def _abandon(self, running: Running) -> None:
        log.warning("job %s (%s) does not stop; its slot is replaced", running.claim.id, running.claim.task)
        self.stuck += 1
        self._close(running)
        self._on_end(running, running.stopped())
        self._fill()

    @property
    def in_threads(self) -> list[Running]:
        """The runs that nobody can stop."""
        return [running for running in self.running.values() if running.handle is None]

    async def close(self) -> None:
        """End children and idle threads."""
        await self._solo.close()
        self._threads.close()
        await self._lines.close()
