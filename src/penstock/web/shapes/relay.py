"""The outbox and its relay, over HTTP."""

from __future__ import annotations

from pydantic import BaseModel

from penstock.web.shapes.fields import Count, Told


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
