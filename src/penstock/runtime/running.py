"""One run of one job, from claim to end, as the worker holds it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from penstock.engine import Settlement
from penstock.model.decide import Committed, End, Returned, Stopped, completed, end_of, health_of, timed_out
from penstock.model.errors import InvalidOption
from penstock.model.job import Claim, NewJob
from penstock.model.retry import Retry
from penstock.runtime import late

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from asyncio import Task as AsyncTask

    from penstock.tasks.joblog import Line
    from penstock.tasks.task import Task


MAX_FOLLOWERS = 1_000  # of one run
MAX_FOLLOWERS_BYTES = 4 * 1024 * 1024

NOTHING = Returned()
_UNREAD = Retry()  # the policy of a run whose options were not read yet


class Stop(Enum):
    """Why a run is being ended from outside."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"


class Running:
    """Touched by the event loop only; a handler's thread reads `stop`."""

    __slots__ = (
        "answered",
        "args",
        "claim",
        "committed",
        "deadline",
        "handle",
        "logged",
        "loop",
        "policy",
        "settled",
        "started",
        "stop",
        "stopped_at",
        "task",
        "then",
        "timeout",
    )

    def __init__(self, claim: Claim, loop: AbstractEventLoop) -> None:
        self.claim = claim
        self.loop = loop
        self.started = time.monotonic()
        self.task: Task[..., Any] | None = None
        self.policy = _UNREAD
        self.args: dict[str, Any] = {}
        self.timeout: float | None = None
        self.deadline: float | None = None
        self.handle: AsyncTask[None] | None = None  # None: it runs in a thread
        self.stop: Stop | None = None
        self.stopped_at = 0.0
        self.settled = False
        self.committed = False  # the handler has settled the run in its own transaction
        self.answered = False  # and set its result there
        self.logged: list[Line] | None = None  # what it has logged; most log nothing
        self.then: list[NewJob] | None = None  # jobs to be put in when the run completes; most have none

    def begin(self) -> None:
        """The handler begins: from now on its time counts."""
        self.started = time.monotonic()
        if self.timeout is not None:
            self.deadline = self.started + self.timeout

    def commit(self, *, answered: bool) -> None:
        """The handler has settled the run itself. From its thread, or from the loop."""
        self.answered = answered
        self.committed = True

    def completion(self, value: Any, *, keep: bool) -> Settlement:
        """The end of this run as completed with this result, and with what follows from it."""
        assert self.task is not None
        ran_for = time.monotonic() - self.started
        return completion(self.claim, self.task, value, ran_for, keep=keep, then=self.then or ())

    def follow(self, job: NewJob) -> None:
        """Put this job in when the run completes. From the handler's thread, and before it ends."""
        self.then = check_followers([*(self.then or ()), job])

    def returned(self, value: Any) -> End:
        """What returning `value` means, given whether the run was being stopped."""
        assert self.task is not None
        if self.committed:
            return late.returned(self.claim, value, answered=self.answered)
        if self.stop is Stop.TIMEOUT:
            return self.stopped()
        return NOTHING if value is None else Returned(*self.task.encode_result(value))

    def ended_by(self, error: BaseException) -> End:
        """What raising `error` means, given whether the run was being stopped."""
        assert self.task is not None
        if self.stop is not None:
            return self.stopped()
        clean = self.task.cleaner(self.claim.args)
        if self.committed:
            return late.raised(self.claim, error, clean)
        return end_of(error, self.policy, self.task.classify, clean)

    def stopped(self) -> End:
        """What being stopped means."""
        if self.committed:
            return Committed()
        if self.stop is Stop.TIMEOUT:
            assert self.timeout is not None
            return timed_out(self.timeout, self.policy)
        return Stopped(cancelled=self.stop is Stop.CANCEL)


def completion(
    claim: Claim, task: Task[..., Any], value: Any, ran_for: float, *, keep: bool, then: Iterable[NewJob]
) -> Settlement:
    """The settlement of a run that completes with this result."""
    end = NOTHING if value is None else Returned(*task.encode_result(value))
    outcome = replace(completed(end), healthy=health_of(end) if task.needs else None)
    return Settlement(claim.id, claim.token, outcome, ran_for, keep, tuple(then))


def check_followers(jobs: list[NewJob]) -> list[NewJob]:
    """As many as can be settled in one step together with the run."""
    if len(jobs) > MAX_FOLLOWERS or sum(len(job.args) for job in jobs) > MAX_FOLLOWERS_BYTES:
        raise InvalidOption(
            f"a run can enqueue {MAX_FOLLOWERS:,} jobs together with its end, and "
            f"{MAX_FOLLOWERS_BYTES // 1024**2} MB of arguments; let one of them enqueue the others"
        )
    return jobs
