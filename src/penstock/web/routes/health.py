"""How all is: probes without a detail for whoever asks, and the whole report for those who may read."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from penstock.health import liveness
from penstock.model.access import Scope
from penstock.web.doorway import Doorway, ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import HealthView, Probe

AWAY = 503


def register(service: FastAPI) -> None:
    probe: dict[str, Any] = {"responses": RESPONSES | {AWAY: {"model": Probe}}, "tags": ["health"]}
    service.get("/healthz", response_model=Probe, **probe)(alive)
    service.get("/readyz", response_model=Probe, **probe)(ready)
    service.get("/health", response_model=HealthView, responses=RESPONSES, tags=["health"])(health)


@needs(None)
async def alive(request: Request, response: Response) -> Probe:
    """Whether this process lives; where not, only a new one helps."""
    doorway: Doorway = request.app.state.doorway
    return _probe(response, good=liveness(doorway.pulse).alive)


@needs(None)
async def ready(request: Request, response: Response) -> Probe:
    """Whether jobs can be put in here now."""
    doorway: Doorway = request.app.state.doorway
    return _probe(response, good=await doorway.ready())


@needs(Scope.READ, everything=True)
async def health(request: Request) -> HealthView:
    """Queues, workers, dead letters, and what is wrong with them."""
    return HealthView.model_validate((await (await ops_of(request)).health.report()).as_dict())


def _probe(response: Response, *, good: bool) -> Probe:
    if not good:
        response.status_code = AWAY
    return Probe(status="ok" if good else "unavailable")
