"""One batch of rows to the engine: what it takes, what it refuses, and what must wait behind that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from penstock.engine import Engine
from penstock.model.errors import Contended, InvalidValue, is_away
from penstock.model.failure import shorten
from penstock.model.job import Enqueued, NewJob
from penstock.outbox import parcel
from penstock.outbox.store import Refusal, Row, Twin, Verdict
from penstock.runtime.backoff import jittered

FIRST_RETRY = 1.0  # seconds; doubles with each refusal
LAST_RETRY = 300.0
MAX_ERROR = 500  # characters
PIECES = 16  # of a batch in which one row waits for a lock: each such wait takes seconds
PATIENCE = 45.0  # seconds for all of them


class EngineAway(Exception):
    """The engine takes nothing now, whatever the rows are."""


class _Parcel(NamedTuple):
    row: Row
    jobs: list[NewJob]


async def dispatch(engine: Engine, rows: Sequence[Row]) -> Verdict:
    """Put the jobs of all rows in, each id once however often this is done; EngineAway where it cannot be."""
    putting = _Putting(engine)
    parcels = _read(rows, putting.verdict)
    for together in _apart(parcels):
        await putting.put(together)
    return putting.verdict


def _apart(parcels: list[_Parcel]) -> Iterator[list[_Parcel]]:
    """Those that were refused before hold up no others; in an order, all stay where they are."""
    tried = [parcel for parcel in parcels if parcel.row.tries and parcel.row.order_key is None]
    yield [parcel for parcel in parcels if not parcel.row.tries or parcel.row.order_key is not None]
    yield tried


def _read(rows: Sequence[Row], verdict: Verdict) -> list[_Parcel]:
    """What can be read; of an order key only up to the first that cannot, or whose id is out of order.

    Jobs put in together run in the order of their ids.
    """
    parcels: list[_Parcel] = []
    last: dict[str, str] = {}  # ids, by order key
    cut: set[str] = set()
    for row in rows:
        if row.order_key in cut:
            continue
        try:
            jobs = parcel.read(row.jobs, row.age)
        except InvalidValue as error:
            verdict.refused.append(_refusal(row, error))
            cut.add(row.order_key or "")
            continue
        if row.order_key is not None:
            if jobs[0].id < last.get(row.order_key, ""):
                cut.add(row.order_key)
                continue
            last[row.order_key] = jobs[-1].id
        parcels.append(_Parcel(row, jobs))
    return parcels


class _Putting:
    """One batch on its way: in as few calls as can be, and where one fails, in pieces."""

    def __init__(self, engine: Engine) -> None:
        self.verdict = Verdict([], [], [])
        self._engine = engine
        self._stuck: set[str] = set()  # order keys of which a row was refused
        self._over_at: float | None = None  # by time.monotonic()

    async def put(self, parcels: list[_Parcel]) -> None:
        parcels = [parcel for parcel in parcels if parcel.row.order_key not in self._stuck]
        if not parcels or self._is_over():
            return
        try:
            answers = await self._engine.enqueue([j for parcel in parcels for j in parcel.jobs], again=True)
        except Exception as error:
            pieces = self._pieces(error)
            if len(parcels) == 1:
                self._refuse(parcels[0].row, error)
                return
            size = -(-len(parcels) // pieces)
            for start in range(0, len(parcels), size):
                await self.put(parcels[start : start + size])
            if self._is_over() and not any(self.verdict):
                raise EngineAway(str(error)) from error
        else:
            self.verdict.dispatched.extend(parcel.row.seq for parcel in parcels)
            self.verdict.duplicates.extend(_twins(parcels, answers))

    def _pieces(self, error: Exception) -> int:
        """Into how many to cut what failed; EngineAway where nothing would be taken."""
        if isinstance(error, Contended):
            if self._over_at is None:
                self._over_at = time.monotonic() + PATIENCE
            return PIECES
        if is_away(error):
            raise EngineAway(str(error)) from error
        return 2

    def _is_over(self) -> bool:
        """Locks have been waited for long enough: the rest is left as it was."""
        return self._over_at is not None and time.monotonic() >= self._over_at

    def _refuse(self, row: Row, error: Exception) -> None:
        self.verdict.refused.append(_refusal(row, error))
        if row.order_key is not None:
            self._stuck.add(row.order_key)


def _twins(parcels: list[_Parcel], answers: Sequence[Enqueued]) -> Iterator[Twin]:
    """Rows of one job, of which none was made as another holds its key."""
    found = iter(answers)
    for row, jobs in parcels:
        answered = [answer.id for answer in islice(found, len(jobs))]
        if len(jobs) == 1 and answered != [jobs[0].id]:
            yield Twin(row.seq, answered[0])


def _refusal(row: Row, error: Exception) -> Refusal:
    text = shorten(f"{type(error).__name__}: {error}".replace("\0", ""), MAX_ERROR)
    return Refusal(row.seq, text, jittered(min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(row.tries, 20))))
