"""Queues and workers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.model.states import State
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import PausedView, Queues, QueueView, Why, Workers, WorkerView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["queues and workers"]}
    service.get("/queues", response_model=Queues, **options)(queues)
    service.post("/queues/{name}/pause", response_model=PausedView, **options)(pause)
    service.post("/queues/{name}/resume", response_model=PausedView, **options)(resume)
    service.get("/workers", response_model=Workers, **options)(workers)


@needs(Scope.READ, everything=True)
async def queues(request: Request) -> Queues:
    """Every queue, with its counts."""
    rows = await (await ops_of(request)).queues()
    return Queues(
        queues=[
            QueueView(
                name=row.name,
                declared=row.declared,
                paused=row.paused,
                counts=dict.fromkeys(State, 0) | dict(row.counts),
                parked=row.parked,
            )
            for row in rows
        ]
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


@needs(Scope.READ, everything=True)
async def workers(request: Request) -> Workers:
    """Every worker process."""
    found = await (await ops_of(request)).workers()
    return Workers(
        workers=[
            WorkerView(
                id=worker.id,
                name=worker.name,
                queues=list(worker.queues),
                slots=worker.slots,
                active=worker.active,
                alive=worker.alive,
                started_at=worker.started_at,
                expires_at=worker.expires_at,
            )
            for worker in found
        ]
    )
