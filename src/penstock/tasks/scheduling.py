"""`app.schedule` and what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from penstock.engine import Engine, ScheduleRow
from penstock.model.errors import ActionRefused, InvalidOption, InvalidValue
from penstock.tasks.call import Call
from penstock.tasks.schedules import ScheduleOptions, Target, make_spec
from penstock.tasks.spec import Spec, read_spec

if TYPE_CHECKING:
    from penstock.tasks.access import Access
    from penstock.tasks.registry import Registry


class Scheduling:
    """The part of an app that makes jobs by the clock."""

    registry: Registry
    _access: Access

    def schedule(self, name: str, task: Target, /, **options: Unpack[ScheduleOptions]) -> None:
        """Declare that a task runs by the clock; workers tell the engine when they start.

        `cron="15 4 * * *"` with `tz="America/Sao_Paulo"`, or `every=` so many seconds; from `start` to `end`.
        `args` are the task's arguments; or give a call of it in place of the task.
        `overlap` is what becomes of a tick while the job of the one before is unfinished: "allow", "skip", or
        "queue", which lets one wait. `missed` is what becomes of ticks that nobody was there to fire: "skip",
        "once" (one run for all of them) or "all" (the latest 100).
        `after` names schedules: a tick's job is blocked until their jobs of the same period have completed,
        for `deadline` seconds, else until the next tick; then `on_deadline`: "skip", "run" or "fail".
        priority, owner, retry, timeout and expire_after are those of its jobs, keep_completed and keep_failed
        how many of them are kept when they have ended.
        """
        self.registry.schedules.add(name, self._spec(name, task, options))

    def upsert_schedule(self, name: str, task: Target, /, **options: Unpack[ScheduleOptions]) -> None:
        """Add a schedule at run time, or change it. Put in twice it is there once."""
        spec = self._at_run_time(name, task, options)
        self._access.run(lambda opened, _: self._put(opened.engine, name, spec), "aupsert_schedule")

    async def aupsert_schedule(self, name: str, task: Target, /, **options: Unpack[ScheduleOptions]) -> None:
        """Add a schedule at run time, or change it. Put in twice it is there once."""
        spec = self._at_run_time(name, task, options)
        await self._access.arun(lambda opened, _: self._put(opened.engine, name, spec))

    def remove_schedule(self, name: str) -> bool:
        """Remove a schedule that was put in at run time, and not its jobs; whether there was one."""
        self._refuse_declared(name)
        return self._access.run(lambda opened, _: remove(opened.engine, name), "aremove_schedule")

    async def aremove_schedule(self, name: str) -> bool:
        """Remove a schedule that was put in at run time, and not its jobs; whether there was one."""
        self._refuse_declared(name)
        return await self._access.arun(lambda opened, _: remove(opened.engine, name))

    def _at_run_time(self, name: str, task: Target, options: ScheduleOptions) -> Spec:
        self._refuse_declared(name)
        return self._spec(name, task, options)

    def _spec(self, name: str, task: Target, options: ScheduleOptions) -> Spec:
        spec = make_spec(name, task, options)
        if self.registry.get(spec.job.task) is not (task.task if isinstance(task, Call) else task._task):
            raise InvalidOption(f"schedule {name!r}: task {spec.job.task!r} is one of another app")
        return spec

    async def _put(self, engine: Engine, name: str, spec: Spec) -> None:
        rows = {row.id: row for row in await engine.schedules()}
        upstreams = {row.id: _upstreams(row) for row in rows.values()}
        upstreams |= {known: declared.after for known, declared in self.registry.schedules.declared.items()}
        _check_upstreams(name, spec, upstreams)
        now = (await engine.due_schedules(0)).now
        await engine.put_schedules([row_for(name, spec, rows.get(name), now)])

    def _refuse_declared(self, name: str) -> None:
        if name in self.registry.schedules.declared:
            raise ActionRefused(f"schedule {name!r} is declared in code; change it there, or pause it")


async def remove(engine: Engine, name: str) -> bool:
    return bool(await engine.remove_schedules([name]))


async def sync(engine: Engine, declared: dict[str, Spec], source: str) -> None:
    """Make the engine's schedules of this source those that are declared, losing and doubling no tick."""
    rows = {row.id: row for row in await engine.schedules()}
    gone = [row.id for row in rows.values() if row.source == source and row.id not in declared]
    now = (await engine.due_schedules(0)).now
    wanted = [row_for(name, spec, rows.get(name), now, source) for name, spec in declared.items()]
    changed = [row for row in wanted if _differs(row, rows.get(row.id))]
    if changed:
        await engine.put_schedules(changed)
    if gone:
        await engine.remove_schedules(gone)


def row_for(
    name: str, spec: Spec, known: ScheduleRow | None, now: datetime, source: str | None = None
) -> ScheduleRow:
    """A schedule to be put in. Its next tick is after the latest, also where the clock has gone back."""
    past = known.last_due if known and known.last_due else now
    return ScheduleRow(id=name, spec=spec.text(), source=source, next_at=spec.timing.next(max(now, past)))


def _differs(row: ScheduleRow, known: ScheduleRow | None) -> bool:
    return known is None or (row.spec, row.source) != (known.spec, known.source)


def _check_upstreams(name: str, spec: Spec, upstreams: Mapping[str, Sequence[str]]) -> None:
    """InvalidOption where it comes after one that is not there, or, in the end, after itself."""
    for upstream in spec.after:
        if upstream not in upstreams:
            raise InvalidOption(f"schedule {name!r} comes after {upstream!r}, which is not there")
    seen: set[str] = set()
    look = list(spec.after)
    while look:
        one = look.pop()
        if one == name:
            raise InvalidOption(f"schedule {name!r} would come after itself, by way of others")
        if one not in seen:
            seen.add(one)
            look += upstreams.get(one, ())


def _upstreams(row: ScheduleRow) -> Sequence[str]:
    try:
        return read_spec(row.spec).after
    except InvalidValue:
        return ()
