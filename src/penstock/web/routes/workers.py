"""Worker processes: what each runs, and telling one to be quiet or to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request

from penstock.engine import Order, WorkerInfo
from penstock.model.access import Scope
from penstock.model.job import Job
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.fields import Why
from penstock.web.shapes.workers import LostView, OrderedView, RunningView, Workers, WorkerView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["workers"]}
    service.get("/workers", response_model=Workers, **options)(workers)
    service.post("/workers/{id}/quiet", response_model=OrderedView, **options)(quiet)
    service.post("/workers/{id}/resume", response_model=OrderedView, **options)(resume)
    service.post("/workers/{id}/stop", response_model=OrderedView, **options)(stop)


@needs(Scope.READ, everything=True)
async def workers(request: Request) -> Workers:
    """Every worker process, and what it runs."""
    ops = await ops_of(request)
    running = await ops.running()
    return Workers(
        workers=[_view(worker, running.get(worker.id, ())) for worker in await ops.workers()],
        lost=[LostView.model_validate(worker) for worker in await ops.workforce.lost()],
    )


@needs(Scope.OPERATE, everything=True)
async def quiet(request: Request, id: str, why: Why | None = None) -> OrderedView:  # noqa: A002 - in the path
    """Let a worker claim nothing more; what it runs goes on."""
    return await _order(request, id, Order.QUIET, why)


@needs(Scope.OPERATE, everything=True)
async def resume(request: Request, id: str, why: Why | None = None) -> OrderedView:  # noqa: A002 - as above
    """Let a quiet worker claim again."""
    return await _order(request, id, None, why)


@needs(Scope.OPERATE, everything=True)
async def stop(request: Request, id: str, why: Why | None = None) -> OrderedView:  # noqa: A002 - as above
    """Let a worker finish what it runs, and end; no other is started in its place."""
    return await _order(request, id, Order.STOP, why)


async def _order(request: Request, worker: str, order: Order | None, why: Why | None) -> OrderedView:
    found = await (await ops_of(request, why)).workforce.order(worker, order)
    return OrderedView(id=found.id, name=found.name, order=order)


def _view(worker: WorkerInfo, jobs: Sequence[Job]) -> WorkerView:
    return WorkerView(
        id=worker.id,
        name=worker.name,
        queues=list(worker.queues),
        slots=worker.slots,
        active=worker.active,
        alive=worker.alive,
        started_at=worker.started_at,
        expires_at=worker.expires_at,
        order=worker.order,
        memory=worker.memory,
        running=[_running(job) for job in jobs],
    )


def _running(job: Job) -> RunningView:
    return RunningView(
        job_id=job.id, task=job.task, queue=job.queue, since=job.claimed_at, progress=job.progress
    )
