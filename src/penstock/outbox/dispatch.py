"""One batch of rows to the engine: what it takes, what it refuses, and what must wait behind that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from penstock.engine import Engine
from penstock.model.errors import InvalidValue, is_away
from penstock.model.failure import shorten
from penstock.model.job import Enqueued, NewJob
from penstock.outbox import parcel
from penstock.outbox.store import Refusal, Row, Twin, Verdict
from penstock.runtime.backoff import jittered

FIRST_RETRY = 1.0  # seconds; doubles with each refusal
LAST_RETRY = 300.0
MAX_ERROR = 500  # characters


class EngineAway(Exception):
    """The engine takes nothing now, whatever the rows are."""


class _Parcel(NamedTuple):
    row: Row
    jobs: list[NewJob]


async def dispatch(engine: Engine, rows: Sequence[Row]) -> Verdict:
    """Put the jobs of all rows in, each id once however often this is done; EngineAway where it cannot be."""
    verdict = Verdict([], [], [])
    await _put(engine, _read(rows, verdict), verdict, set())
    return verdict


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


async def _put(engine: Engine, parcels: list[_Parcel], verdict: Verdict, stuck: set[str]) -> None:
    """In as few calls as can be: where one fails, each half by itself."""
    parcels = [parcel for parcel in parcels if parcel.row.order_key not in stuck]
    if not parcels:
        return
    try:
        answers = await engine.enqueue([job for parcel in parcels for job in parcel.jobs], again=True)
    except Exception as error:
        if is_away(error):
            raise EngineAway(str(error)) from error
        if len(parcels) > 1:
            half = len(parcels) // 2
            await _put(engine, parcels[:half], verdict, stuck)
            await _put(engine, parcels[half:], verdict, stuck)
            return
        row = parcels[0].row
        verdict.refused.append(_refusal(row, error))
        if row.order_key is not None:
            stuck.add(row.order_key)
    else:
        verdict.dispatched.extend(parcel.row.seq for parcel in parcels)
        verdict.duplicates.extend(_twins(parcels, answers))


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
