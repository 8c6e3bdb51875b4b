"""Schedules for people: what there is, when it runs next, and acting on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from penstock.audit import Audit, DeedFilter
from penstock.engine import Engine, ScheduleRow, TickRecord
from penstock.model.errors import ActionRefused, InvalidValue, JobNotFound
from penstock.model.planning import Runs, Seam, runs_between, seams_between
from penstock.model.schedule import Timing
from penstock.model.states import State
from penstock.model.zones import offset
from penstock.tasks.ids import new_id
from penstock.tasks.registry import Registry
from penstock.tasks.spec import Spec, read_spec
from penstock.veil import Veil

RUNS_SHOWN = 10
TICKS_SHOWN = 20
LANES_SHOWN = 100
FIRE = "schedule fire"  # in the audit log
BY_HAND = "fired by hand"
BY_HAND_FOR = timedelta(days=7)  # that a run by hand is told of


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A schedule. Of one that cannot be read there is no `spec`; `synced` is whether the engine knows it."""

    id: str
    spec: Spec | None
    source: str | None
    next_at: datetime | None
    paused: bool = False
    synced: bool = True
    last_due: datetime | None = None
    last_job: str | None = None


class Run(NamedTuple):
    """A tick to come."""

    at: datetime  # in UTC
    there: datetime  # in the schedule's zone
    note: str | None  # that clocks change before it


class Fired(NamedTuple):
    """A tick that was, or a run by hand, and what has become of its job."""

    due: datetime
    fired_at: datetime
    job_id: str | None
    note: str | None
    state: State | None  # None: there is no job, or no record of it any more


class Detail(NamedTuple):
    entry: Entry
    runs: list[Run]
    ticks: list[Fired]


class Lane(NamedTuple):
    """What one schedule does in a time, and has done in it."""

    entry: Entry
    runs: Runs
    ticks: list[TickRecord]  # that fell due in this time, newest first
    last: Fired | None  # the latest tick of all


class Plan(NamedTuple):
    """The schedules side by side over a time, by name, LANES_SHOWN of them at most."""

    now: datetime
    since: datetime
    until: datetime
    lanes: list[Lane]
    seams: list[Seam]


class Timetable:
    """Everything a person may ask of schedules, or do with them."""

    def __init__(self, engine: Engine, registry: Registry, audit: Audit, veil: Veil) -> None:
        self._engine = engine
        self._registry = registry
        self._audit = audit
        self._veil = veil

    async def schedules(self) -> list[Entry]:
        """Every schedule, by name, those too that are declared and which no worker has told of yet."""
        return [self._shown(entry) for entry in await self._entries()]

    def _shown(self, entry: Entry) -> Entry:
        if entry.spec is None:
            return entry
        job = entry.spec.job
        shown = job._replace(args=self._veil.payload(job.task, job.args))
        return replace(entry, spec=replace(entry.spec, job=shown))

    async def _entries(self) -> list[Entry]:
        known = {row.id: _entry(row) for row in await self._engine.schedules()}
        now = (await self._engine.due_schedules(0)).now
        for name, spec in self._registry.schedules.declared.items():
            source, at = self._registry.schedules.source(), spec.timing.next(now)
            known.setdefault(name, Entry(id=name, spec=spec, source=source, next_at=at, synced=False))
        return [entry for _, entry in sorted(known.items())]

    async def schedule(self, name: str) -> Detail:
        """One schedule, its next runs, its latest ticks and runs by hand; JobNotFound where there is none."""
        entry = await self._entry(name)
        now = (await self._engine.due_schedules(0)).now
        runs = [] if entry.spec is None or entry.paused else _runs(entry.spec.timing, entry.next_at, now)
        ticks = [*await self._engine.ticks(name, TICKS_SHOWN), *await self._by_hand(name, now)]
        latest = sorted(ticks, key=lambda tick: tick.fired_at, reverse=True)[:TICKS_SHOWN]
        return Detail(self._shown(entry), runs, [await self._fired(tick) for tick in latest])

    async def _by_hand(self, name: str, now: datetime) -> list[TickRecord]:
        """What somebody has fired lately, as the audit log has it."""
        where = DeedFilter(action=FIRE, target=name, outcome="done", since=now - BY_HAND_FOR)
        found = (await self._audit.search(where, TICKS_SHOWN)).entries
        return [
            TickRecord(deed.at, deed.at, deed.after["job_id"], BY_HAND)
            for deed in found
            if deed.target == name and "job_id" in deed.after
        ]

    async def plan(self, span: timedelta, since: datetime | None = None) -> Plan:
        """What all schedules do in a time; by default the next, and a little of what was before."""
        now = (await self._engine.due_schedules(0)).now
        begin, until = (now - span / 12, now + span) if since is None else (since, since + span)
        entries = (await self._entries())[:LANES_SHOWN]
        zones = {spec.timing.zone.key: spec.timing.zone for entry in entries if (spec := entry.spec)}
        lanes = [await self._lane(entry, begin, until) for entry in entries]
        return Plan(now, begin, until, lanes, seams_between(zones.values(), begin, until))

    async def _lane(self, entry: Entry, since: datetime, until: datetime) -> Lane:
        ticks = await self._engine.ticks(entry.id, TICKS_SHOWN)
        last = await self._fired(ticks[0]) if ticks else None
        runs = Runs([], more=False)
        if entry.spec is not None and entry.next_at is not None and not entry.paused:
            runs = runs_between(entry.spec.timing, entry.next_at, since, until)
        return Lane(self._shown(entry), runs, [t for t in ticks if since <= t.due < until], last)

    async def _fired(self, tick: TickRecord) -> Fired:
        job = None if tick.job_id is None else await self._engine.get(tick.job_id)
        return Fired(*tick, state=None if job is None else job.state)

    async def fire(self, name: str) -> str:
        """Make a job as the schedule does, now and outside its ticks; its id."""
        entry = await self._entry(name)
        job = _readable(entry).job_by_hand(name, new_id())
        async with self._audit.action(FIRE, name) as change:
            (made,) = await self._engine.enqueue([job])
            if made.duplicate:
                raise ActionRefused(
                    f"job {made.id} holds the key of this schedule's jobs; nothing was enqueued"
                )
            change.after = {"job_id": made.id}
        return made.id

    async def pause(self, name: str) -> None:
        """Let no tick be fired until it is resumed; jobs that are there go on."""
        await self._set(name, paused=True, next_at=None)

    async def resume(self, name: str) -> datetime | None:
        """Go on with the first tick after now, which is answered; what fell into the pause is left out."""
        entry = await self._entry(name)
        now = (await self._engine.due_schedules(0)).now
        at = _readable(entry).timing.next(max(now, entry.last_due or now))
        await self._set(name, paused=False, next_at=at)
        return (await self._entry(name)).next_at

    async def _set(self, name: str, *, paused: bool, next_at: datetime | None) -> None:
        entry = await self._entry(name)
        async with self._audit.action("schedule pause" if paused else "schedule resume", name) as change:
            change.before = {"paused": entry.paused, "next_at": entry.next_at}
            if not entry.synced or not await self._engine.pause_schedule(name, paused, next_at):
                raise ActionRefused(f"schedule {name!r} is not there yet: it comes with the first worker")
            change.after = {"paused": paused, "next_at": next_at}

    async def _entry(self, name: str) -> Entry:
        entries = await self._entries()
        found = next((entry for entry in entries if entry.id == name), None)
        if found is None:
            names = ", ".join(entry.id for entry in entries)
            there = f"there are: {names}" if names else "there are none"
            raise JobNotFound(f"there is no schedule {name!r}; {there}")
        return found


def _entry(row: ScheduleRow) -> Entry:
    try:
        spec = read_spec(row.spec)
    except InvalidValue:
        spec = None
    return Entry(
        id=row.id,
        spec=spec,
        source=row.source,
        next_at=row.next_at,
        paused=row.paused,
        last_due=row.last_due,
        last_job=row.last_job,
    )


def _readable(entry: Entry) -> Spec:
    if entry.spec is None:
        raise ActionRefused(f"what is stored of schedule {entry.id!r} cannot be read; declare it again")
    return entry.spec


def _runs(when: Timing, first: datetime | None, now: datetime) -> list[Run]:
    if first is None:
        return []
    ticks = [first, *islice(when.upcoming(first), RUNS_SHOWN - 1)]
    before = [now, *ticks]
    return [
        Run(at, at.astimezone(when.zone), _change(when, earlier, at))
        for at, earlier in zip(ticks, before, strict=False)
    ]


def _change(when: Timing, earlier: datetime, at: datetime) -> str | None:
    """That the clocks of the zone are put forward or back between two runs."""
    moved = offset(when.zone, at) - offset(when.zone, earlier)
    if not moved:
        return None
    way = "forward" if moved > timedelta(0) else "back"
    return f"clocks go {way} {_short(abs(moved))} before this run"


def _short(step: timedelta) -> str:
    minutes = int(step.total_seconds() // 60)
    return f"{minutes // 60} h" if minutes % 60 == 0 else f"{minutes} min"
