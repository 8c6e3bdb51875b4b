"""Queues."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.model.states import State
from penstock.ops import QueueRow
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.fields import Why
from penstock.web.shapes.queues import PausedView, Queues, QueueView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["queues"]}
    service.get("/queues", response_model=Queues, **options)(queues)
    service.post("/queues/{name}/pause", response_model=PausedView, **options)(pause)
    service.post("/queues/{name}/resume", response_model=PausedView, **options)(resume)


@needs(Scope.READ, everything=True)
async def queues(request: Request) -> Queues:
    """Every queue, with its counts."""
    rows = await (await ops_of(request)).queues()
    return Queues(queues=[_view(row) for row in rows])


def _view(row: QueueRow) -> QueueView:
    return QueueView(
        name=row.name,
        declared=row.declared,
        paused=row.paused,
        counts=dict.fromkeys(State, 0) | dict(row.counts),
        parked=row.parked,
        concurrency=row.concurrency,
        max_active=row.limit.concurrency,
        rate=row.limit.said or None,
        rate_key=row.rate_key,
        workers=row.workers,
    )


@needs(Scope.OPERATE, everything=True)
async def pause(request: Request, name: str, why: Why | None = None) -> PausedView:
    """Stop claims from a queue; what runs goes on."""
    await (await ops_of(request, why)).pause(name)
    return PausedView(name=name, paused=True)


@needs(Scope.OPERATE, everything=True)
async def resume(request: Request, name: str, why: Why | None = None) -> PausedView:
    """Allow claims from a queue again."""
    await (await ops_of(request, why)).resume(name)
    return PausedView(name=name, paused=False)
