"""What operators are shown of the whole: plans, gauges, the relay, findings, and what workers run."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from penstock.engine import Level
from penstock.web.shapes import Count, TickView


class Told(BaseModel):
    model_config = ConfigDict(from_attributes=True)


# -- schedules ---------------------------------------------------------------------------------------------
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


# -- metrics -----------------------------------------------------------------------------------------------
class GaugeView(Told):
    """What stood at a moment; None where nobody looked. Of all queues together: the worst of them."""

    at: datetime
    waiting: float | None
    oldest_age: float | None
    stalled: float | None
    dead_letters: float | None
    workers: float | None
    relay_lag: float | None


class Gauges(BaseModel):
    points: list[GaugeView]


class LatelyView(BaseModel):
    """By queue what was completed in each two minutes of the last hour, oldest first."""

    completed: dict[str, list[float]]


# -- the relay, and whether the place where jobs live is safe ------------------------------------------------
class RefusedRow(Told):
    id: str
    order_key: str | None
    tries: Count
    error: str
    retry_in: float


class RelayView(BaseModel):
    """How the app's outbox stands; without one there is nothing to tell but that."""

    outbox: bool
    problem: str | None = None  # why it cannot be asked
    waiting: Count | None = None
    lag: float | None = None  # seconds that the oldest row has waited
    refused: Count | None = None  # of those that wait, by the engine
    errors: list[RefusedRow] = []  # the first of these


class FindingView(Told):
    name: str
    level: Level
    text: str


class Findings(BaseModel):
    """What `penstock doctor` finds."""

    safe: bool  # whether a worker would start
    accepted: list[str]
    findings: list[FindingView]


# -- alerts ------------------------------------------------------------------------------------------------
class RuleView(BaseModel):
    rule: str
    severity: str
    condition: str
    channels: list[str]
    built_in: bool


class Rules(BaseModel):
    rules: list[RuleView]
