"""Jobs into the outbox, over the caller's connection: rows of his transaction, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from penstock import crash_points
from penstock.engines.sqlite.instants import now_by
from penstock.lent import AsyncLent, Lent
from penstock.model.clock import Clock
from penstock.model.errors import InvalidOption
from penstock.model.job import Enqueued, NewJob
from penstock.model.states import State
from penstock.outbox import parcel
from penstock.outbox.store import dialect_of, explained
from penstock.outbox.tables import sql
from penstock.tasks.urls import sqlite_path

_FILE = "select file from pragma_database_list where name = 'main'"


class Writer:
    """Puts jobs in as if it were the engine: committed they will be there, rolled back they never were.

    Whether a key is taken shows at the dispatch only: a job answered here may turn out to be a duplicate.
    """

    def __init__(self, url: str, clock: Clock, destination: str) -> None:
        self._destination = destination
        self.dialect = dialect_of(url)
        self._file = os.path.realpath(sqlite_path(url)) if self.dialect == "sqlite" else None
        self._clock = clock

    def enqueue(self, lent: Lent, jobs: Sequence[NewJob], *, again: bool = False) -> Sequence[Enqueued]:  # noqa: ARG002 - an id is a row's, however often it comes
        """Write the jobs."""
        self._check_dialect(lent)
        if self._file is not None:
            self._check_file(lent.fetch(_FILE))
        with explained("penstock_outbox"):
            lent.fetch(*self._insert(jobs))
        crash_points.passing("outbox-written")
        return _answers(jobs)

    async def aenqueue(
        self,
        lent: AsyncLent,
        jobs: Sequence[NewJob],
        *,
        again: bool = False,  # noqa: ARG002 - as above
    ) -> Sequence[Enqueued]:
        """The same over a connection whose calls are awaited."""
        self._check_dialect(lent)
        if self._file is not None:
            self._check_file(await lent.fetch(_FILE))
        with explained("penstock_outbox"):
            await lent.fetch(*self._insert(jobs))
        crash_points.passing("outbox-written")
        return _answers(jobs)

    def _insert(self, jobs: Sequence[NewJob]) -> tuple[Any, ...]:
        rows = json.dumps([_row(together) for together in _parcels(jobs)], ensure_ascii=False)
        if self.dialect == "sqlite":
            return (sql("sqlite")["insert"], rows, now_by(self._clock), self._destination)
        now = self._clock.now()
        at = None if now is None else now.isoformat()
        return (sql("postgresql")["insert"], rows, at, self._destination)

    def _check_dialect(self, lent: Lent | AsyncLent) -> None:
        if lent.dialect != self.dialect:
            raise InvalidOption(
                f"the outbox is in {self.dialect}, and the connection leads to {lent.dialect}; "
                "lend a connection to the database that outbox= names"
            )

    def _check_file(self, found: list[tuple[Any, ...]]) -> None:
        file = found[0][0] if found else ""
        if not file or os.path.realpath(file) != self._file:
            raise InvalidOption(
                f"the connection leads to {file or 'a database in memory'}, the outbox is in {self._file}; "
                "lend a connection to the database that outbox= names"
            )


def _parcels(jobs: Sequence[NewJob]) -> Iterator[list[NewJob]]:
    """Jobs that are tied to each other must reach the engine in one step: they share a row."""
    tied = [job for job in jobs if job.ties is not None and (job.ties.flow or job.ties.after)]
    ids = {job.id for job in tied}
    if tied:
        yield tied
    for job in jobs:
        if job.id not in ids:
            yield [job]


def _row(jobs: Sequence[NewJob]) -> dict[str, str | None]:
    keys = {job.order for job in jobs if job.order is not None}
    if len(keys) > 1:
        raise InvalidOption("jobs of one flow are dispatched in one step: they can have one order= only")
    return {"id": jobs[0].id, "jobs": parcel.write(jobs), "order_key": keys.pop() if keys else None}


def _answers(jobs: Sequence[NewJob]) -> list[Enqueued]:
    return [Enqueued(job.id, _state(job), False) for job in jobs]


def _state(job: NewJob) -> State:
    if job.ties is not None and job.ties.after:
        return State.BLOCKED
    return State.DELAYED if job.delay > 0 or job.window.kind == "debounce" else State.WAITING
