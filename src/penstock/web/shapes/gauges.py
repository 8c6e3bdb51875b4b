"""The figures at the head of the overview, over HTTP."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from penstock.web.shapes.fields import Told


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
