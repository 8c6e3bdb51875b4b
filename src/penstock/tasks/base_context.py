"""What handlers of both kinds are told about their run."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from penstock.engine import Effect
from penstock.model.errors import InvalidOption
from penstock.model.job import Claim, Job
from penstock.model.names import check_text
from penstock.model.priority import Priority
from penstock.model.redaction import Clean, redacted
from penstock.model.states import State
from penstock.tasks.clean_log import clean_call
from penstock.tasks.effects import key_for
from penstock.tasks.joblog import JobLog
from penstock.tasks.run_link import RunLink
from penstock.tasks.steps import Steps, lost
from penstock.tasks.transaction import NEEDS_ONE, BaseTransaction
from penstock.telemetry import tracing

if TYPE_CHECKING:
    from penstock.tasks.call import Call
    from penstock.tasks.task import Task
    from penstock.tasks.transacting import Transacting


class BaseContext:
    """What both kinds of handlers can read."""

    __slots__ = ("_block", "_cleaner", "_link", "_log", "_steps", "_task")

    def __init__(self, link: RunLink, task: Task[..., Any] | None = None) -> None:
        self._link = link
        self._task = task  # None: made by hand, for a test
        self._block: BaseTransaction | None = None
        self._cleaner: Clean | None = None
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
            clean = self._clean
            self._log = JobLogger(self._link.claim, JobLog(clean, self._link.logged), clean)
        return self._log

    @property
    def _clean(self) -> Clean:
        """What takes the job's secrets out of all that the run says."""
        if self._cleaner is None:
            task = self._task
            self._cleaner = redacted if task is None else task.cleaner(self._link.claim.args)
        return self._cleaner

    def tell_log(self) -> None:
        """Have what was logged kept."""
        if self._log is not None:
            self._log.kept.tell()

    def enqueue(self, call: Call[Any]) -> None:
        """Put a job in together with the end of this run, where it completes; else nothing is put in."""
        if self._task is not None and call.task.client is not self._task.client:
            raise InvalidOption(f"{call!r} was made by a task of another app; enqueue it with that app")
        if call.sent:
            raise InvalidOption(f"{call!r} has been enqueued already; make one call() per job")
        if self._block is not None and self._block.committed:
            raise InvalidOption(
                "the run is completed, and its followers are in; enqueue inside the transaction"
            )
        call.refuse_order()
        call.task.admit()
        call.sent = True
        self._link.follow(*tracing.carried([call.job]))

    def key_for(self, provider: str) -> str:
        """The idempotency key to give to another service: the same in every attempt, a UUID."""
        return key_for(self._link.claim.task, self._link.claim.key, provider)

    def _transacting(self) -> Transacting:
        if self._task is None:
            raise InvalidOption("this context was made by hand, and belongs to no app that has transactions")
        return self._task.client.transacting

    def _only_one(self) -> None:
        if self._block is not None:
            raise InvalidOption("an attempt has one ctx.transaction(); do all in the same block")

    def _effect(self, name: str) -> Effect:
        claim = self._link.claim
        self._transacting()
        assert self._task is not None
        check_text("the name of an effect", name)
        return Effect(claim.task, claim.key, name, claim.id, self._task.effects_for(claim.options))

    def _is_in_block(self, connection: Any) -> bool:
        """Whether what is asked for belongs to the open transaction."""
        if self._block is None or not self._block.is_open:
            if connection is None:
                raise InvalidOption(NEEDS_ONE)
            return False
        return connection is None or connection is self._block.connection

    def _refuse_in_block(self, what: str) -> None:
        if self._block is not None and self._block.is_open:
            raise InvalidOption(
                f"{what} is kept at once, by another connection, and the transaction may be undone (and on "
                "SQLite keeps all others out): do it before ctx.transaction()"
            )

    def _may_tell(self) -> bool:
        """Not inside a transaction: the connection that would write it may have to wait for that one."""
        return self._block is None or not self._block.is_open

    def _memory(self) -> Steps:
        if self._steps is None:
            self._steps = Steps(self._link.claim, self._clean)
        return self._steps

    def _hold(self) -> None:
        """LeaseLost where the job has passed on: a step must not be begun then."""
        if self._link.lease_lost():
            raise lost(self._link.claim)


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs to `penstock.task.<name>`, with the job in every record, and without its secrets."""

    def __init__(self, claim: Claim, kept: JobLog, clean: Clean = redacted) -> None:
        self.kept = kept
        self._clean = clean
        fields = {
            "job_id": claim.id,
            "job_name": claim.task,
            "queue": claim.queue,
            "attempt": claim.attempt,
        }
        super().__init__(logging.getLogger(f"penstock.task.{claim.task}"), fields)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log, and keep what is no mere detail."""
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1  # the caller's own line, not this one
        error = _error_of(kwargs.get("exc_info"))
        if self._clean is redacted:
            super().log(level, msg, *args, **kwargs)
        elif self.isEnabledFor(level):
            said, told = clean_call(self._clean, msg, args, kwargs, error)
            super().log(level, said, **told)
        if level >= logging.INFO:
            self.kept.add(level, msg, args, error)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def _error_of(exc_info: Any) -> BaseException | None:
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        found: BaseException | None = exc_info[1]
        return found
    return sys.exception() if exc_info else None


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
