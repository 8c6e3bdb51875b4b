"""Schedules: what runs by the clock, when it runs next, and acting on it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.timetable import Entry, Lane
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.fields import Instant, Why
from penstock.web.shapes.plans import PlannedView, PlanView, SeamView
from penstock.web.shapes.schedules import Fired, RunView, ScheduleDetail, Schedules, ScheduleView, TickView

SPANS = {"day": timedelta(days=1), "week": timedelta(days=7)}


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["schedules"]}
    service.get("/schedules", response_model=Schedules, **options)(schedules)
    service.get("/timetable", response_model=PlanView, **options)(timetable)
    service.get("/schedules/{name}", response_model=ScheduleDetail, **options)(schedule)
    service.post("/schedules/{name}/fire", status_code=202, response_model=Fired, **options)(fire)
    service.post("/schedules/{name}/pause", response_model=ScheduleView, **options)(pause)
    service.post("/schedules/{name}/resume", response_model=ScheduleView, **options)(resume)


@needs(Scope.READ, everything=True)
async def schedules(request: Request) -> Schedules:
    """Every schedule, by name."""
    found = await (await ops_of(request)).timetable.schedules()
    return Schedules(schedules=[ScheduleView(**_told(entry)) for entry in found])


@needs(Scope.READ, everything=True)
async def timetable(
    request: Request, span: Literal["day", "week"] = "day", since: Instant | None = None
) -> PlanView:
    """What all schedules do in a time, side by side: the next, and a little before, unless told otherwise."""
    plan = await (await ops_of(request)).timetable.plan(SPANS[span], since)
    return PlanView(
        now=plan.now,
        since=plan.since,
        until=plan.until,
        lanes=[_planned(lane) for lane in plan.lanes],
        seams=[SeamView.model_validate(seam) for seam in plan.seams],
    )


def _planned(lane: Lane) -> PlannedView:
    told = _told(lane.entry)
    return PlannedView(
        **{name: told[name] for name in ("id", "task", "tz", "paused", "after")},
        runs=lane.runs.at,
        more=lane.runs.more,
        ticks=[tick.due for tick in lane.ticks],
        fired=[tick.fired_at for tick in lane.ticks],
        last=None if lane.last is None else TickView(**lane.last._asdict()),
    )


@needs(Scope.READ, everything=True)
async def schedule(request: Request, name: str) -> ScheduleDetail:
    """One schedule, its next runs and its latest ticks."""
    found = await (await ops_of(request)).timetable.schedule(name)
    return ScheduleDetail(
        **_told(found.entry),
        runs=[RunView(**run._asdict()) for run in found.runs],
        ticks=[TickView(**tick._asdict()) for tick in found.ticks],
    )


@needs(Scope.OPERATE, everything=True)
async def fire(request: Request, name: str, why: Why | None = None) -> Fired:
    """Make a job as the schedule does, now; its ticks go on as they were."""
    return Fired(job_id=await (await ops_of(request, why)).timetable.fire(name))


@needs(Scope.OPERATE, everything=True)
async def pause(request: Request, name: str, why: Why | None = None) -> ScheduleView:
    """Fire no ticks until it is resumed."""
    timetable = (await ops_of(request, why)).timetable
    await timetable.pause(name)
    return ScheduleView(**_told((await timetable.schedule(name)).entry))


@needs(Scope.OPERATE, everything=True)
async def resume(request: Request, name: str, why: Why | None = None) -> ScheduleView:
    """Fire ticks again, from the next one on."""
    timetable = (await ops_of(request, why)).timetable
    await timetable.resume(name)
    return ScheduleView(**_told((await timetable.schedule(name)).entry))


def _told(entry: Entry) -> dict[str, Any]:
    spec = entry.spec
    when = spec.when if spec else {}
    return {
        "id": entry.id,
        "task": spec.job.task if spec else None,
        "queue": spec.job.queue if spec else None,
        "cron": when.get("cron"),
        "every": when.get("every"),
        "tz": when.get("tz"),
        "paused": entry.paused,
        "synced": entry.synced,
        "next_at": entry.next_at,
        "last_due": entry.last_due,
        "last_job": entry.last_job,
        "overlap": spec.overlap if spec else None,
        "missed": spec.missed if spec else None,
        "after": list(spec.after) if spec else [],
    }
