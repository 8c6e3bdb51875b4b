"""Worker processes: what each runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request

from penstock.engine import WorkerInfo
from penstock.model.access import Scope
from penstock.model.job import Job
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import RunningView, Workers, WorkerView


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["workers"]}
    service.get("/workers", response_model=Workers, **options)(workers)


@needs(Scope.READ, everything=True)
async def workers(request: Request) -> Workers:
    """Every worker process, and what it runs."""
    ops = await ops_of(request)
    running = await ops.running()
    return Workers(workers=[_view(worker, running.get(worker.id, ())) for worker in await ops.workers()])


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
        running=[_running(job) for job in jobs],
    )


def _running(job: Job) -> RunningView:
    return RunningView(
        job_id=job.id, task=job.task, queue=job.queue, since=job.claimed_at, progress=job.progress
    )
