"""What a handler is told about its run, and what it may say while it runs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import MutableMapping
from typing import Any, Protocol

from penstock.model.errors import ValueTooLarge
from penstock.model.failure import described, shorten
from penstock.model.job import Claim, Job
from penstock.model.priority import Priority
from penstock.model.states import State
from penstock.model.values import dumps

log = logging.getLogger("penstock.worker")

MAX_PROGRESS_BYTES = 4_096
# In characters, longest first. One takes up to six bytes of JSON, so the last fits whatever it holds.
_MESSAGE_LENGTHS = (MAX_PROGRESS_BYTES - 50, 2_000, 1_000, 600)


class RunLink(Protocol):
    """The line from a running handler to the worker that runs it."""

    @property
    def claim(self) -> Claim:
        """The job in hand."""

    @property
    def worker(self) -> str:
        """The id of the worker that runs it."""

    @property
    def deadline(self) -> float | None:
        """When the run is ended for taking too long, by `time.monotonic()`; None: no limit."""

    def lease_lost(self) -> bool:
        """Whether the job belongs to another worker by now."""
        ...

    def cancelled(self) -> bool:
        """Whether somebody asked the job to stop."""
        ...

    async def progress(self, percent: float, message: str) -> None:
        """Store how far the run is."""

    def progress_sync(self, percent: float, message: str) -> None:
        """The same, from a handler's own thread or process."""


def progress_text(percent: float, message: str) -> str:
    """The JSON text that engines store as a job's progress; a message that is too long is cut."""
    for length in _MESSAGE_LENGTHS:
        told = {"percent": percent, "message": shorten(str(message), length)}
        with contextlib.suppress(ValueTooLarge):
            return dumps(told, MAX_PROGRESS_BYTES, "progress")
    raise AssertionError("the shortest always fits")


class _BaseContext:
    """What both kinds of handlers can read."""

    __slots__ = ("_link", "_log")

    def __init__(self, link: RunLink) -> None:
        self._link = link
        self._log: JobLogger | None = None

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


class Context(_BaseContext):
    """The first parameter of an async handler that asks for it."""

    __slots__ = ()

    async def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        if told := _told(self._link.claim, percent, message):
            await self._link.progress(*told)


class SyncContext(_BaseContext):
    """The first parameter of a sync handler that asks for it: the same methods without await."""

    __slots__ = ()

    def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the run is, from 0 to 100. It is for people who watch: it never fails the run."""
        if told := _told(self._link.claim, percent, message):
            self._link.progress_sync(*told)


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
