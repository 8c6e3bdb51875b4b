"""Schedules: rows whose ticks are written once, together with their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from penstock.engine import (
    STILL_RUNS,
    STILL_WAITS,
    TICKS_KEPT,
    DueSchedules,
    ScheduleRow,
    Tick,
    TickRecord,
)
from penstock.engines.redis import enqueue
from penstock.engines.redis.codec import section, sections, text_id
from penstock.engines.redis.inspect import Inspection
from penstock.engines.redis.instants import SECOND, instant, number, stored
from penstock.model.job import Ties


class Schedules(Inspection):
    """The verbs of schedules. See `_schedules.lua` for how they are stored."""

    async def put_schedules(self, schedules: Sequence[ScheduleRow]) -> None:
        if schedules:
            rows = [word for row in schedules for word in (row.id.encode(), _pack(row))]
            await self._do("put_schedules", *rows)

    async def remove_schedules(self, ids: Sequence[str]) -> int:
        removed: int = await self._do("remove_schedules", *(each.encode() for each in ids)) if ids else 0
        return removed

    async def pause_schedule(self, schedule_id: str, paused: bool, next_at: datetime | None) -> bool:
        flag = b"1" if paused else b"0"
        return bool(await self._do("pause_schedule", schedule_id.encode(), flag, _at(next_at)))

    async def due_schedules(self, limit: int) -> DueSchedules:
        now, next_in, *rows = await self._do("due_schedules", number(limit))
        found = [_row(each, raw) for each, raw in zip(*[iter(rows)] * 2, strict=True)]
        return DueSchedules(found, int(next_in) / SECOND if next_in else None, instant(int(now)))

    async def fire(self, tick: Tick) -> TickRecord | None:
        written = await self._do_once(
            "fire",
            tick.schedule.encode(),
            _at(tick.due),
            _at(tick.next_at),
            tick.overlap.encode(),
            (tick.note or "").encode(),
            STILL_RUNS.encode(),
            STILL_WAITS.encode(),
            number(TICKS_KEPT),
            *_job(tick),
        )
        return None if written is None else _tick(written)

    async def schedules(self) -> list[ScheduleRow]:
        return read_schedules(await self._do("schedules"))

    async def ticks(self, schedule_id: str, limit: int) -> list[TickRecord]:
        if limit < 1:
            return []
        return [_tick(raw) for raw in await self._do("ticks", schedule_id.encode(), number(limit))]


def read_schedules(answer: list[bytes]) -> list[ScheduleRow]:
    """The schedules that `schedules.lua` tells."""
    found = [_row(each, raw) for each, raw in zip(*[iter(answer)] * 2, strict=True)]
    return sorted(found, key=lambda row: row.id)


def _job(tick: Tick) -> list[bytes]:
    """Where the job may have to wait for the one before, the script adds to its ties."""
    if tick.job is None:
        return []
    queued = tick.overlap == "queue" and tick.job.ties is None
    return enqueue.arguments([tick.job._replace(ties=Ties()) if queued else tick.job])


def _at(at: datetime | None) -> bytes:
    return b"" if at is None else number(stored(at))


def _pack(row: ScheduleRow) -> bytes:
    packed = [section(b"s", row.spec)]
    if row.source is not None:
        packed.append(section(b"o", row.source))
    if row.next_at is not None:
        packed.append(section(b"n", _at(row.next_at)))
    if row.paused:
        packed.append(section(b"p", b"1"))
    return b"".join(packed)


def _row(schedule_id: bytes, raw: bytes) -> ScheduleRow:
    found = dict(sections(raw))
    source, job = found.get(b"o"), found.get(b"j")
    return ScheduleRow(
        id=schedule_id.decode(),
        spec=found[b"s"].decode(),
        source=None if source is None else source.decode(),
        next_at=_instant(found.get(b"n")),
        paused=b"p" in found,
        last_due=_instant(found.get(b"d")),
        last_job=None if job is None else text_id(job),
    )


def _tick(raw: bytes) -> TickRecord:
    found = dict(sections(raw))
    job, note = found.get(b"j"), found.get(b"n")
    return TickRecord(
        instant(int(found[b"d"])),
        instant(int(found[b"f"])),
        None if job is None else text_id(job),
        None if note is None else note.decode(),
    )


def _instant(text: bytes | None) -> datetime | None:
    return None if text is None else instant(int(text))
