"""Circuit breakers, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from penstock.web.shapes.fields import Count


class BreakerView(BaseModel):
    name: str
    state: Literal["closed", "open", "half-open"]
    since: datetime | None
    failures: Count
    runs: Count
    probing: Count
    retry_in: float | None
    threshold: int
    reset: float
    probes: int
    failure_rate: float | None


class Breakers(BaseModel):
    breakers: list[BreakerView]


class BreakerSet(BaseModel):
    name: str
    state: Literal["closed", "open"]
