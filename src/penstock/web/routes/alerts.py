"""What fires, and what has."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request

from penstock.model.access import Scope
from penstock.web.doorway import ops_of
from penstock.web.guard import needs
from penstock.web.pages import Limit
from penstock.web.refusals import RESPONSES
from penstock.web.shapes import AlertEntries, Alerts


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"responses": RESPONSES, "tags": ["alerts"]}
    service.get("/alerts", response_model=Alerts, **options)(alerts)
    service.get("/alerts/history", response_model=AlertEntries, **options)(history)


@needs(Scope.READ, everything=True)
async def alerts(request: Request) -> dict[str, Any]:
    """Every alert that is not over, the worst first, and how the channels were last reached."""
    desk = (await ops_of(request)).alerts
    return {"alerts": await desk.standing(), "channels": await desk.channels()}


@needs(Scope.READ, everything=True)
async def history(request: Request, limit: Limit = 50) -> dict[str, Any]:
    """What has happened to alerts, newest first."""
    return {"entries": await (await ops_of(request)).alerts.history(limit)}
