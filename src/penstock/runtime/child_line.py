"""The line of a handler that runs alone in a child process; at its other end is the worker."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from penstock.engine import Settlement
from penstock.model.decide import End, Returned, end_of
from penstock.model.errors import EngineUnavailable
from penstock.model.job import Claim, NewJob
from penstock.runtime import late
from penstock.runtime.running import check_followers, completion
from penstock.runtime.wire import Terms, end_to_wire, pack
from penstock.tasks.errands import Errand
from penstock.tasks.joblog import Line
from penstock.tasks.run_link import progress_text
from penstock.tasks.steps import lost
from penstock.tasks.task import Task


class ChildLine:
    """What one run says. Every message names the run, and a run that is over says nothing more.

    Progress goes one at a time: while one is being stored the latest waits, and those between are forgotten.
    """

    def __init__(
        self, claim: Claim, task: Task[..., Any], terms: Terms, send: Callable[[bytes], object]
    ) -> None:
        self.claim = claim
        self._task = task
        self._terms = terms
        self._began = time.monotonic()
        timeout = task.timeout_for(claim.options)
        self.deadline = None if timeout is None else self._began + timeout
        self._send = send
        self._pid = os.getpid()
        self._lock = threading.Lock()  # for all below: any thread may tell progress
        self._latest: str | None = None
        self._storing = False
        self._over = False
        self._errands: list[Future[Any]] = []  # by their numbers
        self._followers: list[NewJob] = []
        self._committed = False
        self._answered = False

    @property
    def worker(self) -> str:
        return self._terms.worker

    @property
    def lease(self) -> float:
        return self._terms.lease

    @property
    def copied(self) -> bool:
        """Whether this is a copy of the process that was given the job: a handler may fork."""
        return os.getpid() != self._pid

    def begin(self) -> None:
        self._say({"begun": True})

    def end(self, end: End) -> None:
        """The last word, after the last progress."""
        with self._lock:
            self._over = True
            self._say_latest()
            self._say({"end": end_to_wire(end)})

    def returned(self, value: Any) -> End:
        """What returning `value` means."""
        if self._committed:
            return late.returned(self.claim, value, answered=self._answered)
        return Returned() if value is None else Returned(*self._task.encode_result(value))

    def ended_by(self, error: BaseException) -> End:
        """What raising `error` means."""
        clean = self._task.cleaner(self.claim.args)
        if self._committed:
            return late.raised(self.claim, error, clean)
        return end_of(error, self._task.policy_for(self.claim.options), self._task.classify, clean)

    def stored(self) -> None:
        """The worker has stored what was told last."""
        with self._lock:
            self._storing = False
            if not self._over:
                self._say_latest()

    def lease_lost(self) -> bool:
        return False  # a worker that has lost its lease kills its children

    def cancelled(self) -> bool:
        return False  # and so does one that is told to cancel

    async def progress(self, percent: float, message: str) -> None:
        self.progress_sync(percent, message)

    def progress_sync(self, percent: float, message: str) -> None:
        if self.copied:
            return
        with self._lock:
            if self._over:
                return
            self._latest = progress_text(percent, message)
            if not self._storing:
                self._say_latest()

    async def do(self, errand: Errand) -> Any:
        return await asyncio.wrap_future(self._sent(errand))

    def do_sync(self, errand: Errand) -> Any:
        return self._sent(errand).result()

    def _sent(self, errand: Errand) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._lock:
            if self._over or self.copied:
                raise lost(self.claim)
            self._errands.append(answer)
            self._say({"errand": errand, "number": len(self._errands) - 1})
        return answer

    def answered(self, message: dict[str, Any]) -> None:
        """The worker has done an errand."""
        asked = self._errands[message["number"]]
        if not asked.set_running_or_notify_cancel():
            return
        if "unavailable" in message:
            asked.set_exception(EngineUnavailable(message["unavailable"]))
        else:
            asked.set_result(message["answer"])

    def follow(self, job: NewJob) -> None:
        with self._lock:
            if self._over or self.copied:
                raise lost(self.claim)
            self._followers = check_followers([*self._followers, job])
            self._say({"follow": job})

    def logged(self, lines: list[Line]) -> None:
        if self.copied:
            return
        with self._lock:
            if not self._over:
                self._say({"logged": lines})

    def completion(self, value: Any) -> Settlement:
        ran_for = time.monotonic() - self._began
        with self._lock:
            if self._over or self.copied:
                raise lost(self.claim)
            then = self._followers
        return completion(self.claim, self._task, value, ran_for, keep=self._terms.keep, then=then)

    def committed(self, *, answered: bool) -> None:
        with self._lock:
            self._answered = answered
            self._committed = True
            self._say({"committed": answered})

    def _say_latest(self) -> None:
        if self._latest is not None:
            self._say({"progress": self._latest})
            self._latest = None
            self._storing = True

    def _say(self, message: dict[str, Any]) -> None:
        self._send(pack({"token": self.claim.token, **message}))
