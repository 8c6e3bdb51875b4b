"""The caller's end of a job: what is known of it, and the way to its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from penstock.model.decide import had_none, was_dropped
from penstock.model.errors import (
    Duration,
    JobCancelled,
    JobFailed,
    JobNotFound,
    ResultDropped,
    ResultUnavailable,
    in_seconds,
)
from penstock.model.job import Enqueued, Job
from penstock.model.states import State

if TYPE_CHECKING:
    from penstock.tasks.call import Call

R_co = TypeVar("R_co", covariant=True)


class JobHandle(Generic[R_co]):
    """A job that was enqueued: a snapshot, until refreshed."""

    __slots__ = ("_lent", "_task", "duplicate", "id", "key", "state")

    id: str
    key: str  # the idempotency key: given, or minted with the job
    state: State
    duplicate: bool  # the key was taken: this is the job that holds it

    def __init__(self, call: Call[R_co], answer: Enqueued, *, lent: bool = False) -> None:
        self._task = call.task
        self.key = call.job.key
        self._lent = lent and not answer.duplicate  # it is there only when the caller has committed
        self.id, self.state, self.duplicate = answer

    @property
    def queue(self) -> str:
        return self._task.queue

    @property
    def task(self) -> str:
        return self._task.name

    def refresh(self) -> JobHandle[R_co]:
        """Read the job's state anew; JobNotFound where its record is gone."""
        with self._explained():
            self.state = self._task.client.get(self.id).state
        return self

    async def arefresh(self) -> JobHandle[R_co]:
        """Read the job's state anew; JobNotFound where its record is gone."""
        with self._explained():
            self.state = (await self._task.client.aget(self.id)).state
        return self

    def result(self, timeout: Duration | None = None) -> R_co:
        """Wait for the job to end and return what it returned.

        Raises JobFailed, JobCancelled, ResultDropped, JobNotFound, or ResultTimeout after `timeout`: seconds
        or a timedelta.
        """
        with self._explained():
            return self._read(self._task.client.finished(self.id, _patience(timeout), lent=self._lent))

    async def aresult(self, timeout: Duration | None = None) -> R_co:
        """Wait for the job to end and return what it returned.

        Raises JobFailed, JobCancelled, ResultDropped, JobNotFound, or ResultTimeout after `timeout`: seconds
        or a timedelta.
        """
        with self._explained():
            return self._read(await self._task.client.afinished(self.id, _patience(timeout), lent=self._lent))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """A job without a record may be one whose transaction is open still."""
        try:
            yield
        except JobNotFound:
            if not self._lent:
                raise
            raise JobNotFound(
                f"there is no record of job {self.id}: the transaction in which it was enqueued is not "
                "committed yet, or was rolled back; or it is still in the outbox, or was found to be a "
                "duplicate there; or it has ended and been pruned"
            ) from None

    def _read(self, job: Job) -> R_co:
        self.state = job.state
        if job.state is not State.COMPLETED:
            _raise_end(job)
        if job.result_json is None and was_dropped(job.note):
            raise ResultDropped(f"job {job.id} completed; {job.note}")
        if job.result_json is None and had_none(job.note):
            raise ResultUnavailable(f"job {job.id} completed without a result; {job.note}")
        result: R_co = self._task.decode_result(job.result_json)
        return result

    def __repr__(self) -> str:
        return f"<job {self.task} {self.id} {self.state}>"


def _patience(timeout: Duration | None) -> float | None:
    return None if timeout is None else in_seconds("timeout", timeout)


def _raise_end(job: Job) -> NoReturn:
    last: dict[str, Any] = job.errors[-1] if job.errors else {}
    why = f"{last['type']}: {last['message']}" if last else job.note or "no reason was kept"
    if job.state is State.CANCELLED:
        raise JobCancelled(f"job {job.id} was cancelled: {job.note or 'no reason was given'}")
    tries = "1 attempt" if job.attempt == 1 else f"{job.attempt} attempts"
    raise JobFailed(f"job {job.id} failed after {tries}: {why} (all of it: penstock job {job.id})")
