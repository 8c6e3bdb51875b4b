"""How all is: probes without a detail for whoever asks, and the whole report for those who may read."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response

from penstock.health import liveness
from penstock.model.access import Scope
from penstock.model.errors import PenstockError
from penstock.model.redaction import redacted
from penstock.web.doorway import Doorway, ops_of
from penstock.web.guard import needs
from penstock.web.refusals import RESPONSES
from penstock.web.shapes.health import Findings, FindingView, HealthView, Probe
from penstock.web.shapes.relay import RefusedRow, RelayView

AWAY = 503


def register(service: FastAPI) -> None:
    probe: dict[str, Any] = {"responses": RESPONSES | {AWAY: {"model": Probe}}, "tags": ["health"]}
    service.get("/healthz", response_model=Probe, **probe)(alive)
    service.get("/readyz", response_model=Probe, **probe)(ready)
    service.get("/health", response_model=HealthView, responses=RESPONSES, tags=["health"])(health)
    service.get("/health/findings", response_model=Findings, responses=RESPONSES, tags=["health"])(findings)
    service.get("/relay", response_model=RelayView, responses=RESPONSES, tags=["health"])(relay)


@needs(None, free="")  # of whatever asks, with whatever it appends
async def alive(request: Request, response: Response) -> Probe:
    """Whether this process lives; where not, only a new one helps."""
    doorway: Doorway = request.app.state.doorway
    return _probe(response, good=liveness(doorway.pulse).alive)


@needs(None, free="")
async def ready(request: Request, response: Response) -> Probe:
    """Whether jobs can be put in here now."""
    doorway: Doorway = request.app.state.doorway
    return _probe(response, good=await doorway.ready())


@needs(Scope.READ, everything=True)
async def health(request: Request) -> HealthView:
    """Queues, workers, dead letters, and what is wrong with them."""
    return HealthView.model_validate((await (await ops_of(request)).health.report()).as_dict())


@needs(Scope.READ, everything=True)
async def findings(request: Request) -> Findings:
    """Whether the place where jobs live is safe: what `penstock doctor` finds."""
    doorway: Doorway = request.app.state.doorway
    found = await doorway.app.examine()
    return Findings(
        safe=not found.refused,
        accepted=sorted(found.accepted),
        findings=[FindingView.model_validate(finding) for finding in found.findings],
    )


@needs(Scope.READ, everything=True)
async def relay(request: Request) -> RelayView:
    """How many rows of the app's outbox wait for a relay, and for how long."""
    doorway: Doorway = request.app.state.doorway
    if doorway.app.settings.outbox is None:
        return RelayView(outbox=False)
    try:
        found = await doorway.app.outbox.status()
    except PenstockError as error:
        return RelayView(outbox=True, problem=redacted(str(error)))
    return RelayView(
        outbox=True,
        waiting=found.waiting,
        lag=found.lag,
        refused=found.refused,
        errors=[RefusedRow.model_validate(row) for row in found.errors],
    )


def _probe(response: Response, *, good: bool) -> Probe:
    if not good:
        response.status_code = AWAY
    return Probe(status="ok" if good else "unavailable")
