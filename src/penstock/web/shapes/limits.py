"""Limits and their lanes, over HTTP."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from penstock.web.shapes.fields import Count


class BoundView(BaseModel):
    said: str  # the rate as it was declared
    rate: float | None  # starts per second
    burst: int
    concurrency: int | None


class LimitView(BaseModel):
    name: str  # of a queue, of a task in it, or of the keys of either
    limit: BoundView
    per_key: BoundView
    needs: list[str]
    active: Count
    cooled_for: float | None


class Limits(BaseModel):
    limits: list[LimitView]


class LaneView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    lane: str
    waiting: Count
    active: Count
    opens_in: float | None


class Lanes(BaseModel):
    keys: list[LaneView]
    next: str | None
