"""The time line of schedules, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from penstock.web.shapes.fields import Told
from penstock.web.shapes.schedules import TickView


class PlannedView(BaseModel):
    """One schedule over the time of a plan."""

    id: str
    task: str | None
    tz: str | None
    paused: bool
    after: list[str]
    runs: list[datetime]
    more: bool  # it runs more often than these say
    ticks: list[datetime]  # that fell due in this time and were fired
    fired: list[datetime]  # when each of these was
    last: TickView | None  # the latest tick of all


class SeamView(Told):
    """Where the clocks of a zone are put forward, or back where it is negative."""

    zone: str
    at: datetime
    forward: float  # seconds


class PlanView(BaseModel):
    now: datetime
    since: datetime
    until: datetime
    lanes: list[PlannedView]
    seams: list[SeamView]
