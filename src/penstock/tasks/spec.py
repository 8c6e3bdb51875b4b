"""What a schedule is, as it is stored: any worker can fire it, also one that does not know its task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from penstock.engine import Overlap, Retention, ScheduleRow
from penstock.model.errors import InvalidOption, InvalidValue
from penstock.model.job import AtDeadline, Edge, NewJob, Ties, Window
from penstock.model.schedule import Missed, Timing, tick_id, timing
from penstock.model.values import loads

MAX_KEY = 220  # characters, so that the time of a tick can be added

_TEMPLATE = (
    *("queue", "task", "args", "unique", "priority", "delay", "max_attempts"),
    *("owner", "expire_after", "options", "lane"),
)  # fields of the job that are stored as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Everything about a schedule but its name and the time of its next tick."""

    timing: Timing
    job: NewJob  # each tick's, but for its id
    missed: Missed = "once"
    overlap: Overlap = "allow"
    after: tuple[str, ...] = ()  # schedules
    deadline: float | None = None  # seconds from the tick that its job waits for those; None: until the next
    on_deadline: AtDeadline = "skip"
    kept: tuple[int | None, int | None, float | None] | None = None  # of a Retention; None: its queue's

    @property
    def when(self) -> dict[str, Any]:
        """The options of `timing()`, as JSON has them."""
        when = self.timing
        given = {
            "cron": when.cron and when.cron.text,
            "every": when.every and when.every.total_seconds(),
            "tz": when.zone.key,
            "start": when.start and when.start.isoformat(),
            "end": when.end and when.end.isoformat(),
        }
        return {name: value for name, value in given.items() if value is not None}

    def text(self) -> str:
        """As it is stored. The same declaration is always the same text."""
        job = {name: getattr(self.job, name) for name in _TEMPLATE}
        job |= {"window": list(self.job.window), "key": self.job.key if self.job.unique else None}
        stored = {
            "when": self.when,
            "job": job,
            "missed": self.missed,
            "overlap": self.overlap,
            "after": list(self.after),
            "deadline": self.deadline,
            "on_deadline": self.on_deadline,
            "kept": self.kept,
        }
        return json.dumps(stored, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    def job_at(self, schedule: str, due: datetime, ties: Ties) -> NewJob:
        """The job of one tick."""
        told = f"{due:%Y-%m-%d %H:%M:%S} UTC"
        return self._job(schedule, tick_id(schedule, due), f"schedule {schedule}, tick of {told}", ties)

    def job_by_hand(self, schedule: str, job_id: str) -> NewJob:
        """A job as the schedule makes them, outside its ticks."""
        return self._job(schedule, job_id, f"schedule {schedule}, fired by hand", Ties())

    def _job(self, schedule: str, job_id: str, origin: str, ties: Ties) -> NewJob:
        shelf = None if self.kept is None else shelf_of(schedule)
        return self.job._replace(
            id=job_id, key=self._key(job_id), ties=ties._replace(shelf=shelf, origin=origin)
        )

    def _key(self, job_id: str) -> str:
        """A key that is held as long as its record would let only the first tick through."""
        if not self.job.unique:
            return job_id
        return f"{self.job.key}@{job_id[-12:]}" if self.job.window.kind == "record" else self.job.key

    def ties(self, edges: tuple[Edge, ...], deadline: float | None) -> Ties:
        """Of a tick's job: it waits for `edges`, and other schedules may wait for it."""
        if not edges:
            return Ties(feeds=True)
        return Ties(after=edges, feeds=True, deadline=deadline, at_deadline=self.on_deadline)

    def upstream_tick(self, upstream: Spec, due: datetime) -> datetime | None:
        """The upstream's tick of the same period: its latest by `due`, after our own tick before."""
        before = self.timing.before(due)
        found = upstream.timing.latest(due)
        return found[0] if found and (before is None or found[0] > before) else None


def shelf_of(schedule: str) -> str:
    return f"@{schedule}"


def retentions(rows: Iterable[ScheduleRow]) -> Iterator[Retention]:
    """How much of their past schedules keep, where not as much as their queues."""
    for row in rows:
        with suppress(InvalidValue):
            if kept := read_spec(row.spec).kept:
                yield Retention(shelf_of(row.id), *kept)


def unshelved(rows: Iterable[ScheduleRow]) -> list[str]:
    """Schedules that keep as much as their queues, and so nothing apart; they may have done so before."""
    return [row.id for row in rows if _keeps_nothing_apart(row)]


def _keeps_nothing_apart(row: ScheduleRow) -> bool:
    try:
        return read_spec(row.spec).kept is None
    except InvalidValue:
        return False


@lru_cache(maxsize=1_024)
def read_spec(text: str) -> Spec:
    """What `Spec.text` wrote; InvalidValue where another release, or somebody by hand, wrote otherwise."""
    try:
        return _read(loads(text))
    except (InvalidOption, InvalidValue, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidValue(f"what is stored of this schedule cannot be read: {error}") from None


def _read(stored: dict[str, Any]) -> Spec:
    job = dict(stored["job"])
    key, window = job.pop("key"), Window(*job.pop("window"))
    if unknown := job.keys() ^ set(_TEMPLATE):
        raise InvalidValue(f"its job lacks, or has too much, {min(unknown)!r}")
    kept = stored["kept"]
    return Spec(
        timing=timing(**_instants(stored["when"])),
        job=NewJob(id="", key=key or "", window=window, **job),
        missed=stored["missed"],
        overlap=stored["overlap"],
        after=tuple(stored["after"]),
        deadline=stored["deadline"],
        on_deadline=stored["on_deadline"],
        kept=None if kept is None else (kept[0], kept[1], kept[2]),
    )


def _instants(when: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value) if name in ("start", "end") else value
        for name, value in when.items()
    }
