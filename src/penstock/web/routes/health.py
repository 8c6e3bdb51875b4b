"""How all is: probes without a detail for whoever asks, and the whole report for those who may read."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from penstock.health import Status, liveness
from penstock.model.access import Scope
from penstock.web.doorway import Doorway, ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import HealthView, Probe

AWAY = 503


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["health"]}
    service.get("/healthz", response_model=Probe, **options)(alive)
    service.get("/readyz", response_model=Probe, **options)(ready)
    service.get("/health", response_model=HealthView, **options)(health)


@needs(None)
async def alive(response: Response) -> Probe:
    """Whether this process lives; where not, only a new one helps."""
    return _probe(response, good=liveness().alive)


@needs(None)
async def ready(request: Request, response: Response) -> Probe:
    """Whether jobs can be put in here now."""
    doorway: Doorway = request.app.state.doorway
    return _probe(response, good=await doorway.ready())


@needs(Scope.READ, everything=True)
async def health(request: Request, response: Response) -> HealthView:
    """Queues, workers, dead letters, and what is wrong with them; 503 where it is unhealthy."""
    found = await (await ops_of(request)).health.report()
    if found.status is Status.UNHEALTHY:
        response.status_code = AWAY
    return HealthView.model_validate(found.as_dict())


def _probe(response: Response, *, good: bool) -> Probe:
    if not good:
        response.status_code = AWAY
    return Probe(status="ok" if good else "unavailable")
