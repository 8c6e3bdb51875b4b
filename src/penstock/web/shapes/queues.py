"""Queues, over HTTP."""

from __future__ import annotations

from pydantic import BaseModel

from penstock.model.states import State
from penstock.web.shapes.fields import Count


class QueueView(BaseModel):
    name: str
    declared: bool
    paused: bool
    counts: dict[State, int]
    parked: Count
    concurrency: int | None  # at once in each worker; None: as many as it has slots
    max_active: int | None  # over all workers
    rate: str | None  # as it was declared
    rate_key: str | None  # for each of these keys by itself
    workers: Count  # alive, that claim from it


class Queues(BaseModel):
    queues: list[QueueView]


class PausedView(BaseModel):
    name: str
    paused: bool
